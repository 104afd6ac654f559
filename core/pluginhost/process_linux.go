package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

// command is the shim that will run a plugin, and where it reports. It is this program
// once more, and apart from the hub: a signal from the terminal is for the hub alone.
func command(order shimOrder) (*exec.Cmd, *os.File, error) {
	if !shimReady.Load() {
		return nil, nil, errNoShim
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, nil, err
	}
	reports, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{shimName, string(text)}, Env: []string{},
		ExtraFiles: []*os.File{to}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, reports, nil
}

// descendants are the processes below another.
func descendants(of int) (all []int) {
	for _, pid := range childrenOf(of) {
		all = append(append(all, pid), descendants(pid)...)
	}
	return all
}

// killTree ends a shim that does not end by itself, and what runs below it: it may
// have been stopped by a plugin of the same user.
func killTree(shim int) {
	for range 100 { // what is killed leaves its own to the shim
		below := descendants(shim)
		for _, pid := range below {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(below) == 0 {
			break
		}
		_ = syscall.Kill(shim, syscall.SIGCONT) // which has to collect them
		time.Sleep(time.Millisecond)
	}
	_ = syscall.Kill(shim, syscall.SIGKILL)
}

// hide keeps this process's memory and environment, where the keys are, from other
// processes of the same user, such as plugins. What it starts is not hidden.
func hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// limit bounds a process: bytes of data (0: none), open files, the size of files, no core dump.
func limit(pid int, data uint64) error {
	if data == 0 {
		return nil
	}
	var err error
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_NOFILE: openFiles, unix.RLIMIT_FSIZE: largestFile, unix.RLIMIT_CORE: 0} {
		err = errors.Join(err, unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil))
	}
	return err
}

// resident is the memory that the processes below another have in use, in bytes: what
// they share by files is not theirs, what they share otherwise is.
func resident(keeper int) uint64 {
	var kilobytes uint64
	for _, pid := range descendants(keeper) {
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

// processes are all that there are.
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
