package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// runtimeDir is the host's private directory. It contains verified programs and sockets, and only this user can enter
// it.
type runtimeDir struct {
	dir      string
	lockFile *os.File // its lock shows other hubs that the owner is alive
	created  atomic.Int64
}

const (
	runtimeDirPrefix = "servery-p"
	lockFileName     = "lock"

	entriesAtOnce = 256 // of a directory are read

	maxSocketPath = 103 // bytes of a socket's path on macOS; Linux allows 107
	maxSubdirName = len("/999999")
	// go-plugin adds two names with random numbers of 32 bits.
	maxRuntimeDirPath = maxSocketPath - maxSubdirName - len("/plugin-dir4294967295") - len("/plugin4294967295")
)

// newRuntimeDir creates a private directory below another. It first removes those of dead hubs, and kills the processes
// that ran there.
func newRuntimeDir(below string) (*runtimeDir, error) {
	stale, _ := filepath.Glob(filepath.Join(below, runtimeDirPrefix+"*"))
	for _, dir := range stale {
		removeStale(dir)
	}
	dir, err := os.MkdirTemp(below, runtimeDirPrefix)
	if err != nil {
		return nil, fmt.Errorf("creating the runtime directory of plugins: %w", err)
	}
	if len(dir) > maxRuntimeDirPath {
		_ = os.RemoveAll(dir)
		return nil,
			fmt.Errorf("the path of %s is too long for sockets: set TMPDIR to a shorter directory",
				dir)
	}
	locked, err := os.CreateTemp(dir, "")
	if err == nil && !tryLock(locked) {
		err = fmt.Errorf("%s cannot be locked", locked.Name())
	}
	if err == nil { // other hubs must see the lock file only after it is locked
		err = os.Rename(locked.Name(), filepath.Join(dir, lockFileName))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &runtimeDir{dir: dir, lockFile: locked}, nil
}

// removeStale removes a private directory without an owner. One that is just being created has no lock file yet, and
// stays.
func removeStale(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, lockFileName), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if tryLock(file) {
		killInDir(dir)
		_ = removeRuntimeDir(dir)
	}
}

// removeRuntimeDir removes a private directory with those of its plugins.
func removeRuntimeDir(dir string) error {
	return errors.Join(removeSubdirs(dir), os.RemoveAll(dir))
}

// removeSubdirs removes the directories of plugins from a private directory.
func removeSubdirs(dir string) error {
	named, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// Another user may have put a link to a directory of the hub's user here.
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, removeIn(root, entry.Name()))
		}
	}
	return err
}

// close removes the directory.
func (d *runtimeDir) close() {
	_ = removeRuntimeDir(d.dir)
	_ = d.lockFile.Close()
}

// newSubdir creates a subdirectory. Its name is a number, so that the paths of sockets stay short.
func (d *runtimeDir) newSubdir() (string, error) {
	dir := filepath.Join(d.dir, strconv.FormatInt(d.created.Add(1), 10))
	return dir, os.Mkdir(dir, 0o700)
}

// copyVerified copies a program into a directory and verifies the digest of the copy. The copy is what runs, so a
// later change of the original has no effect.
func copyVerified(from, into, digest string) (string, error) {
	source, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer source.Close()
	path := filepath.Join(into, filepath.Base(from))
	target, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(target, hash), source)
	if closed := target.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	if is := hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(is, digest) {
		return "", fmt.Errorf("%s has the SHA-256 digest %s, but its manifest says %s", from, is,
			digest)
	}
	return path, nil
}
