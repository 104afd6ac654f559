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
	// maxSocketPath is what macOS allows, the stricter of the two systems.
	maxSocketPath = 103
)

// socketDir names the directory of the socket. It is short, because the path
// of a unix socket may hold about a hundred bytes and checkouts lie deep.
func (p layout) socketDir() string {
	name := "servery-" + strconv.Itoa(p.owner.uid) + "-" + shortHash(p.data)
	dir := filepath.Join(os.TempDir(), name)
	if !filepath.IsAbs(dir) || len(dir)+1+len(socketName) > maxSocketPath {
		dir = filepath.Join("/tmp", name)
	}
	return dir
}

// makeSocketDir creates the directory that is the only wall around the server:
// private to its user. One that somebody else put there is refused.
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

// checkSocketDir fails unless dir is a real directory of the server's user.
// Root's own is accepted too: it is one that was not handed over yet.
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

// clearSocket removes what a dead server left at the socket's path: its lock
// file may name a pid that now belongs to an innocent process, and PostgreSQL
// would take that for a living server. The caller has seen that none answers.
func clearSocket(dir string) error {
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}
