package hubtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ChildrenOf returns the child processes of a process.
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

// ProcessesIn returns the command lines, by pid, of processes that run in dir or name it in their command line.
func ProcessesIn(dir string) map[int]string {
	found := map[int]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		commandLine, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		workDir, _ := os.Readlink(filepath.Join(process, "cwd"))
		if strings.Contains(string(commandLine), dir) || strings.HasPrefix(workDir, dir) {
			pid, _ := strconv.Atoi(filepath.Base(process))
			found[pid] = strings.ReplaceAll(string(commandLine), "\x00", " ")
		}
	}
	return found
}

// KillWithChildren kills a process and its children.
func KillWithChildren(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // a stopped process starts no more children
		t.Fatal(err)
	}
	for _, child := range append(ChildrenOf(pid), pid) {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}
