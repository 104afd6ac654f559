//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Free space of the data directory, in bytes, below which the doctor warns and
// calls it broken.
const (
	littleSpace = 1 << 30
	noSpace     = 128 << 20
)

// canWrite is the mode of access(2) that asks for permission to write.
const canWrite = 2

// disk checks the free space where a directory is, or will be made, and, where the hub
// needs it, that the hub may write there.
func (d *doctor) disk(check, dir string, needed bool) {
	var about syscall.Statfs_t
	err := syscall.Statfs(dir, &about)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &about)
	}
	free := uint64(about.Bavail) * uint64(about.Bsize)
	info, _ := os.Stat(dir)
	switch found := fmt.Sprintf("%s has %d MiB free", dir, free>>20); {
	case err != nil:
		d.say(check, doubt, fmt.Sprintf("%s: %v", dir, err), "make SERVERY_DATA_DIR a directory that the hub may use")
	case info != nil && !info.IsDir():
		d.say(check, broken, dir+" is no directory", "let SERVERY_DATA_DIR name another")
	case needed && syscall.Access(dir, canWrite) != nil:
		d.say(check, broken, "the hub may not write to "+dir, "give it to the user that runs the hub, or set SERVERY_DATABASE_URL and SERVERY_SECRET_KEY, with which nothing is kept there")
	case free < noSpace:
		d.say(check, broken, found, "make room")
	case free < littleSpace:
		d.say(check, doubt, found, "make room")
	default:
		d.say(check, fine, found, "")
	}
}
