package hubtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// RequireNoProcess waits until no process runs in a directory. It kills the others after a timeout.
func RequireNoProcess(t testing.TB, dir string) {
	t.Helper()
	defer func() {
		for pid := range ProcessesIn(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	require.NoError(t, Await(10*time.Second, func() error {
		if left := ProcessesIn(dir); len(left) > 0 {
			return fmt.Errorf("processes %v were left running", left)
		}
		return nil
	}))
}

// OpenDir creates a directory that the user of a private PostgreSQL can reach. At the end of the test, no process may
// run in it. Then it is removed unless it is to be kept.
func OpenDir(t testing.TB, prefix string, keep bool) string {
	t.Helper()
	dir, err := os.MkdirTemp("", prefix)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		if keep {
			t.Logf("kept: %s", dir)
			return
		}
		defer os.RemoveAll(dir)
		RequireNoProcess(t, dir)
	})
	return dir
}

// Postmaster returns the pid of the PostgreSQL that the directory contains.
func Postmaster(t testing.TB, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
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
