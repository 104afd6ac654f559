package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// den is the host's private directory: programs as they were verified, and
// sockets. Only this user may enter it.
type den struct {
	dir    string
	locked *os.File // the lock on it tells others that its owner lives
}

const (
	denPrefix  = "servery-plugins-"
	denLock    = "lock"
	longestDen = 60 // bytes; the path of a socket has at most 104, and go-plugin adds two names
)

// newDen makes a den below a directory, after it has swept away those whose
// owners died: what ran there is ended, what lay there removed.
func newDen(below string) (*den, error) {
	stale, _ := filepath.Glob(filepath.Join(below, denPrefix+"*"))
	for _, dir := range stale {
		sweep(dir)
	}
	dir, err := os.MkdirTemp(below, denPrefix)
	if err != nil {
		return nil, fmt.Errorf("a private directory for plugins: %w", err)
	}
	if len(dir) > longestDen {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("the path of %s is too long for sockets; name a shorter directory for temporary files (TMPDIR)", dir)
	}
	locked, err := os.CreateTemp(dir, "")
	if err == nil && !lock(locked) {
		err = fmt.Errorf("%s cannot be locked", locked.Name())
	}
	if err == nil { // others see the lock file only now that it is locked
		err = os.Rename(locked.Name(), filepath.Join(dir, denLock))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &den{dir, locked}, nil
}

// sweep removes a den without an owner. One that was made this moment has no lock
// file yet, and stays.
func sweep(dir string) {
	file, err := os.OpenFile(filepath.Join(dir, denLock), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if lock(file) {
		killFrom(dir)
		_ = os.RemoveAll(dir)
	}
}

// close removes the den.
func (d *den) close() {
	_ = os.RemoveAll(d.dir)
	_ = d.locked.Close()
}

// room makes a directory within the den.
func (d *den) room() (string, error) { return os.MkdirTemp(d.dir, "") }

// copyVerified copies a program into a directory and compares the digest of what
// was copied, which is what runs: changing the original afterwards changes nothing.
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
		return "", fmt.Errorf("%s has the SHA-256 digest %s, and its manifest says %s: it is not started", from, is, digest)
	}
	return path, nil
}
