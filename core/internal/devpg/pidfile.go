package devpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pidfile is what a lock file of PostgreSQL says; the zero value stands for a
// missing or unreadable one.
type pidfile struct {
	pid       int
	socketDir string
	lines     []string
}

// readPidfile reads postmaster.pid of the cluster.
func readPidfile(cluster string) pidfile {
	return parsePidfile(filepath.Join(cluster, "postmaster.pid"))
}

// socketPid returns the pid in the lock file beside a socket, or 0.
func socketPid(socket string) int { return parsePidfile(socket + ".lock").pid }

func parsePidfile(path string) pidfile {
	raw, err := os.ReadFile(path)
	if err != nil {
		return pidfile{}
	}
	lines := strings.Split(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidfile{}
	}
	if pid < 0 { // a single-user backend writes its pid negated
		pid = -pid
	}
	file := pidfile{pid: pid, lines: lines}
	// The fifth line appears only once the server listens.
	if len(lines) > 4 {
		file.socketDir = strings.TrimSpace(lines[4])
	}
	return file
}

// clearPidfile keeps a stale postmaster.pid from stopping the next start.
// PostgreSQL itself ignores one whose process is gone, but not one whose pid
// meanwhile belongs to another process. The file is not simply deleted: it
// also names the shared memory by which PostgreSQL notices backends that
// outlived their postmaster. With our own pid, the parent of the coming
// server, PostgreSQL skips the look at the process and keeps that at the memory.
func clearPidfile(cluster string, owner account) error {
	path := filepath.Join(cluster, "postmaster.pid")
	file := parsePidfile(path)
	switch {
	case file.pid == 0:
		// Empty or garbled, as a full disk leaves it: it names no memory.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unreadable postmaster.pid: %w", err)
		}
		return nil
	case !processExists(file.pid):
		return nil
	}
	lines := append([]string{strconv.Itoa(os.Getpid())}, file.lines[1:]...)
	return replaceFile(path, []byte(strings.Join(lines, "\n")), owner)
}

// replaceFile puts a file of the account in place in one step. It never writes
// through an existing name, which the account could have made a link.
func replaceFile(path string, content []byte, owner account) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(content)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = owner.chown(file.Name())
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
