package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// canLook reports whether this system shows the resources of a process.
const canLook = true

// processAttributes returns the attributes of a program in its own process group. An isolated one also has namespaces
// like those of a hub, and no network.
func processAttributes(isolated bool) *syscall.SysProcAttr {
	if !isolated {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	identity := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: identity(os.Getuid()), GidMappings: identity(os.Getgid())}
}

// allowedEnvironment are the prefixes of variables that the hub and go-plugin pass, and that interpreters set for
// themselves.
var allowedEnvironment = []string{"SERVERY_PLUGIN=", "PLUGIN_", "LC_CTYPE=", "GOMEMLIMIT=", "TMPDIR="}

// environment checks the environment variables of the program.
func environment(_ context.Context, s *session) error {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.PID), "environ"))
	if err != nil {
		return err
	}
	for _, variable := range bytes.Split(text, []byte{0}) {
		// the lines of the certificate in PLUGIN_CLIENT_CERT are part of one variable
		if len(variable) > 0 && !allowed(string(variable)) {
			return fmt.Errorf("the program has the environment variable %s",
				strings.SplitN(string(variable), "=", 2)[0])
		}
	}
	return nil
}

func allowed(variable string) bool {
	for _, prefix := range allowedEnvironment {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}

// network checks that the program has no network sockets after all requests.
func network(_ context.Context, s *session) error {
	proc := filepath.Join("/proc", strconv.Itoa(s.PID))
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, file := range files {
		target, _ := os.Readlink(filepath.Join(proc, "fd", file.Name())) // it may have been closed
		if inode, socket := strings.CutPrefix(target, "socket:["); socket {
			open[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		text, err := os.ReadFile(filepath.Join(proc, "net", kind))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, row := range strings.Split(string(text), "\n")[1:] {
			if fields := strings.Fields(row); len(fields) > 9 && open[fields[9]] {
				return fmt.Errorf("the program has a %s socket", kind)
			}
		}
	}
	return nil
}

// resident returns the memory of a process in bytes, as the hub counts it, or 0 for no process.
func resident(pid int) (bytes uint64) {
	if pid == 0 {
		return 0
	}
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")) // it may have ended
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == "RssAnon" || name == "RssShmem" {
			var kilobytes uint64
			_, _ = fmt.Sscan(value, &kilobytes)
			bytes += kilobytes << 10
		}
	}
	return bytes
}

// killGroup kills a program and its process group, and returns the ids of the group's other processes.
func killGroup(program *os.Process) (killed []string) {
	own := strconv.Itoa(program.Pid)
	killed = slices.DeleteFunc(groupProcesses(own), func(id string) bool { return id == own })
	_ = syscall.Kill(-program.Pid, syscall.SIGKILL)
	return killed
}

// groupTimeout is the maximum time that the processes of a group take to end after the first one.
const groupTimeout = time.Second

// endGroup waits until a process group has ended. It kills the processes that have not, and returns their ids.
func endGroup(group int) (left []string) {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		left = groupProcesses(strconv.Itoa(group))
		switch {
		case len(left) == 0:
			return nil
		case time.Since(begun) > groupTimeout:
			_ = syscall.Kill(-group, syscall.SIGKILL)
			return left
		}
	}
}

// groupProcesses returns the ids of the processes of a group, without those that have ended.
func groupProcesses(group string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		// state, parent, group, …
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == group {
			list = append(list, filepath.Base(filepath.Dir(file)))
		}
	}
	return list
}
