//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Free space of the data directory, in bytes, below which the doctor warns and
// calls it broken.
const (
	littleSpace = 1 << 30
	noSpace     = 128 << 20
)

// disk checks the free space where a directory is, or will be made.
func (d *doctor) disk(check, dir string) {
	var about syscall.Statfs_t
	err := syscall.Statfs(dir, &about)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &about)
	}
	free := uint64(about.Bavail) * uint64(about.Bsize)
	switch found := fmt.Sprintf("%s has %d MiB free", dir, free>>20); {
	case err != nil:
		d.say(check, doubt, fmt.Sprintf("%s: %v", dir, err), "make SERVERY_DATA_DIR a directory that the hub may use")
	case free < noSpace:
		d.say(check, broken, found, "make room")
	case free < littleSpace:
		d.say(check, doubt, found, "make room")
	default:
		d.say(check, fine, found, "")
	}
}
