package hubtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ChildrenOf finds the processes that a process has begun.
func ChildrenOf(parent int) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		_, after, _ := strings.Cut(string(raw), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// ProcessesIn finds the processes that work in dir or below, or name it in their
// command line: their command lines, by their ids.
func ProcessesIn(dir string) map[int]string {
	found := map[int]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		named, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		at, _ := os.Readlink(filepath.Join(process, "cwd"))
		if strings.Contains(string(named), dir) || strings.HasPrefix(at, dir) {
			pid, _ := strconv.Atoi(filepath.Base(process))
			found[pid] = strings.ReplaceAll(string(named), "\x00", " ")
		}
	}
	return found
}

// KillWithChildren ends a process and those that it has begun, all at once.
func KillWithChildren(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // from here on it has no more children
		t.Fatal(err)
	}
	for _, one := range append(ChildrenOf(pid), pid) {
		_ = syscall.Kill(one, syscall.SIGKILL)
	}
}
