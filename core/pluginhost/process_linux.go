package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// separate keeps a plugin's process apart from the hub's: a signal from the
// terminal is for the hub alone, and the hub's death is the plugin's.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limit bounds a process: bytes of data, open files, no core dump.
func limit(pid int, data uint64) error {
	var err error
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_NOFILE: openFiles, unix.RLIMIT_CORE: 0} {
		err = errors.Join(err, unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil))
	}
	return err
}

// killGroup ends the processes that a plugin started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// resident is the memory that a process has in use, in bytes; 0 when it is gone.
func resident(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var total, pages, shared uint64
	if _, err := fmt.Sscan(string(text), &total, &pages, &shared); err != nil {
		return 0
	}
	return (pages - min(shared, pages)) * uint64(os.Getpagesize())
}

// condition says, where it tells something, what a process is doing.
func condition(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), ") ")
	switch {
	case strings.HasPrefix(after, "T"):
		return "; its process is stopped"
	case strings.HasPrefix(after, "D"):
		return "; its process waits for the disk"
	}
	return ""
}

// lock takes a lock that ends with this process; false when another process has it.
func lock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// killFrom ends the processes whose program lies in a directory.
func killFrom(dir string) {
	list, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range list {
		program, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(program, dir+string(filepath.Separator)) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
