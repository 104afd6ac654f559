package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// canLook reports whether this system shows the resources of a process.
const canLook = true

// isolatedProcess returns the attributes of a program without a network, in namespaces like those of a hub.
func isolatedProcess() *syscall.SysProcAttr {
	identity := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: identity(os.Getuid()), GidMappings: identity(os.Getgid())}
}

// allowedEnvironment are the prefixes of variables that go-plugin passes, and that interpreters set for themselves.
var allowedEnvironment = []string{"SERVERY_PLUGIN=", "PLUGIN_", "LC_CTYPE=", "GOMEMLIMIT="}

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

// alive reports whether a process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
