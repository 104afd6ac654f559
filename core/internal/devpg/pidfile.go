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

// pidfile is a lock file of PostgreSQL. The zero value means that it is missing or unreadable.
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
	if pid < 0 { // a single-user backend writes a negative pid
		pid = -pid
	}
	file := pidfile{pid: pid, lines: lines}
	// The fifth line is written when the server listens.
	if len(lines) > 4 {
		file.socketDir = strings.TrimSpace(lines[4])
	}
	return file
}

// clearPidfile prevents a stale postmaster.pid from blocking the next start. PostgreSQL ignores the file if its process
// is gone, but not if the pid now belongs to another process. The file must stay, because it also names the shared
// memory, which shows orphaned backends. With our pid, which is the parent of the new server, PostgreSQL checks only
// this memory.
func clearPidfile(cluster string, owner account) error {
	path := filepath.Join(cluster, "postmaster.pid")
	file := parsePidfile(path)
	switch {
	case file.pid == 0:
		// Empty or garbled, as after a full disk: it names no shared memory.
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

// replaceFile replaces a file of the account atomically. It never writes to an existing path, which could be a symbolic
// link.
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
