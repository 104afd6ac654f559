package pluginhost

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/servery-hub/servery/core/pluginhost/shim"
)

// shimCommand returns the shim that will run a plugin, and the pipe of its reports. The shim is this program again, in
// its own process group, so that a signal from the terminal reaches only the hub.
func shimCommand(order shim.Order) (*exec.Cmd, *os.File, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, nil, err
	}
	reports, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{shim.Name, string(text)}, Env: []string{},
		ExtraFiles: []*os.File{to}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, reports, nil
}

// killTree kills a suspended or hanging shim and all processes below it. A plugin of the same user can suspend the
// shim.
func killTree(pid int) {
	for range 100 { // the children of a killed process move to the shim
		below := shim.Descendants(pid)
		for _, child := range below {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
		if len(below) == 0 {
			break
		}
		_ = syscall.Kill(pid, syscall.SIGCONT) // it has to reap them
		time.Sleep(time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// memoryBelow returns the memory of the processes below another, in bytes: anonymous, shared and swapped memory, but
// not mapped files.
func memoryBelow(reaper int) uint64 {
	var kilobytes uint64
	for _, pid := range shim.Descendants(reaper) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if name == "RssAnon" || name == "RssShmem" || name == "VmSwap" {
				var n uint64
				_, _ = fmt.Sscan(value, &n)
				kilobytes += n
			}
		}
	}
	return kilobytes << 10
}

// processCondition describes an unusual state of a process, or returns "".
func processCondition(pid int) string {
	switch fields := shim.Stat(pid); {
	case len(fields) == 0:
	case fields[0] == "T":
		return ", and its process is stopped"
	case fields[0] == "D":
		return ", and its process waits for the disk"
	}
	return ""
}

// tryLock takes a lock that lasts as long as this process. It returns false if another process has it.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// killInDir kills the processes that belong to a directory: by their program, their working directory, or a socket
// directory in their environment.
func killInDir(dir string) {
	for _, pid := range shim.Processes() {
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
