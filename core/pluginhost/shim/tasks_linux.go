package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	taskInterval = 50 * time.Millisecond // how often a shim looks whether the system has many new processes
	taskGrowth   = 64                    // new processes and threads of the system after which it counts at once
	countEvery   = 20                    // intervals after which it counts in any case
)

// tooManyTasks is the end of a plugin that was ended by watchTasks.
var tooManyTasks = fmt.Sprintf("it had more than %d processes and threads", MaxTasks)

// watchTasks ends a plugin with more than MaxTasks processes and threads. The kernel's own limit does not apply without
// namespaces, and to root.
func (s *shim) watchTasks(reaper int) {
	var counted uint16 // processes and threads of the system at the last count
	for n := 0; ; n++ {
		var system unix.Sysinfo_t
		_ = unix.Sysinfo(&system)
		if int16(system.Procs-counted) >= taskGrowth || n%countEvery == 0 {
			counted = system.Procs
			if readProcesses().tasksBelow(reaper) > MaxTasks {
				s.report(Report{Ended: tooManyTasks})
				s.killChildren()
				return
			}
		}
		time.Sleep(taskInterval)
	}
}

// processTree has the children and the number of threads of every process.
type processTree struct {
	children map[int][]int
	threads  map[int]int
}

// readProcesses reads all processes.
func readProcesses() processTree {
	t := processTree{map[int][]int{}, map[int]int{}}
	for _, pid := range Processes() {
		if fields := Stat(pid); len(fields) > 17 {
			parent, _ := strconv.Atoi(fields[1])
			t.children[parent] = append(t.children[parent], pid)
			t.threads[pid], _ = strconv.Atoi(fields[17])
		}
	}
	return t
}

// Stat returns the fields of a process after its name: the state, the parent and others. The name can contain
// anything, also what looks like fields.
func Stat(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// below returns all processes below another.
func (t processTree) below(of int) []int {
	all := []int{of}
	for n := 0; n < len(all); n++ {
		all = append(all, t.children[all[n]]...)
	}
	return all[1:]
}

// tasksBelow returns the number of processes and threads below a process. One that has ended counts until its parent
// has waited for it.
func (t processTree) tasksBelow(of int) (n int) {
	for _, pid := range t.below(of) {
		n += max(1, t.threads[pid])
	}
	return n
}

// Descendants returns all processes below another.
func Descendants(of int) []int { return readProcesses().below(of) }

// Processes returns the ids of all processes.
func Processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
