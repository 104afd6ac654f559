//go:build linux || darwin

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The thresholds of free space in the data directory, in bytes, for a warning and for an error.
const (
	warnSpace = 1 << 30
	failSpace = 128 << 20
)

// canWrite is the mode of access(2) for write permission.
const canWrite = 2

// Disk checks the free space of a directory or its nearest existing parent. If the hub needs the directory, it also
// checks write permission.
func (d *Doctor) Disk(check, dir string, needed bool) {
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
		d.Add(check, Warn, fmt.Sprintf("%s: %v", dir, err), "set SERVERY_DATA_DIR to a directory that the hub may use")
	case info != nil && !info.IsDir():
		d.Add(check, Fail, dir+" is not a directory", "set SERVERY_DATA_DIR to another directory")
	case needed && syscall.Access(dir, canWrite) != nil:
		d.Add(check, Fail, "the hub may not write to "+dir,
			"change its owner to the user of the hub, or set SERVERY_DATABASE_URL and SERVERY_SECRET_KEY")
	case free < failSpace:
		d.Add(check, Fail, found, "free disk space")
	case free < warnSpace:
		d.Add(check, Warn, found, "free disk space")
	default:
		d.Add(check, OK, found, "")
	}
}
