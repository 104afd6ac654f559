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

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

// separate keeps a plugin's process apart from the hub's: a signal from the
// terminal is for the hub alone, and the hub's death is the plugin's.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// hide keeps this process's memory and environment, where the keys are, from other
// processes of the same user, such as plugins. What it starts is not hidden.
func hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// limit bounds a process: bytes of data, open files, the size of files, no core dump.
func limit(pid int, data uint64) error {
	var err error
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_NOFILE: openFiles, unix.RLIMIT_FSIZE: largestFile, unix.RLIMIT_CORE: 0} {
		err = errors.Join(err, unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil))
	}
	return err
}

// killGroup ends the processes that a plugin started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// resident is the memory that the processes of a group have in use, in bytes: what
// they share by files is not theirs, what they share otherwise is.
func resident(group int) uint64 {
	var kilobytes uint64
	for _, pid := range processes() {
		if of, err := syscall.Getpgid(pid); err != nil || of != group {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if name == "RssAnon" || name == "RssShmem" {
				var n uint64
				_, _ = fmt.Sscan(value, &n)
				kilobytes += n
			}
		}
	}
	return kilobytes << 10
}

// processes are all that there are. Their names alone are read: resident asks every few seconds.
func processes() (pids []int) {
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

// killFrom ends the processes that came out of a directory: whose program lies there,
// who work there, or to whom a plugin handed on that its socket was to be there.
func killFrom(dir string) {
	for _, pid := range processes() {
		if pid != os.Getpid() && isFrom(fmt.Sprintf("/proc/%d", pid), dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func isFrom(process, dir string) bool {
	for _, link := range []string{"exe", "cwd"} {
		path, err := os.Readlink(filepath.Join(process, link))
		if err == nil && (path == dir || strings.HasPrefix(path, dir+"/")) {
			return true
		}
	}
	environment, _ := os.ReadFile(filepath.Join(process, "environ"))
	return strings.Contains("\x00"+string(environment), "\x00"+plugin.EnvUnixSocketDir+"="+dir+"/")
}
