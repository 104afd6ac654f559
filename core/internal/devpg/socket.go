package devpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

const (
	socketName = ".s.PGSQL.5432"
	// maxSocketPath is the limit of macOS, which is lower than that of Linux.
	maxSocketPath = 103
	// socketRemedy is the remedy for a foreign socket directory.
	socketRemedy = "remove it, or set TMPDIR, as the error says"
)

// socketDir returns the directory of the socket. Its path is short, because a Unix socket path is limited to about 100
// bytes.
func (p layout) socketDir() string {
	name := "servery-" + strconv.Itoa(p.owner.uid) + "-" + shortHash(p.data)
	dir := filepath.Join(os.TempDir(), name)
	if !filepath.IsAbs(dir) || len(dir)+1+len(socketName) > maxSocketPath {
		dir = filepath.Join("/tmp", name)
	}
	return dir
}

// makeSocketDir creates the directory of the socket, which only the server's user can enter. It rejects an existing
// directory of another user.
func makeSocketDir(dir string, owner account) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create socket directory: %w", err)
	}
	if err := checkSocketDir(dir, owner); err != nil {
		return err
	}
	if err := owner.chown(dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close socket directory: %w", err)
	}
	return nil
}

// checkSocketDir fails unless dir is a real directory of the server's user. It accepts a directory of root, which is
// not yet handed over.
func checkSocketDir(dir string, owner account) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	uid, _ := ownerOf(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("socket directory %s is a symbolic link, which is not safe: remove it or set TMPDIR", dir)
	case !info.IsDir():
		return fmt.Errorf("socket directory %s is not a directory: remove it or set TMPDIR", dir)
	case uid != owner.uid && (uid != 0 || !owner.switched):
		return fmt.Errorf("socket directory %s belongs to uid %d instead of %d: remove it or set TMPDIR", dir, uid,
			owner.uid)
	}
	return nil
}

// clearSocket removes the socket files of a dead server. Their lock file may contain the pid of another process, which
// PostgreSQL would take for a server. The caller must have checked that no server responds.
func clearSocket(dir string) error {
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}
