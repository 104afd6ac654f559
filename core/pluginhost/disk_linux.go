package pluginhost

import (
	"os"
	"path/filepath"
	"syscall"
)

const (
	entriesAtOnce = 256     // of a directory are read
	entryCost     = 4 << 10 // bytes that an entry counts in addition to its size
)

// filesBelow returns the size of the files below a directory, except one of them. It stops above a limit, so that it
// takes little time whatever a plugin has written.
func filesBelow(dir, except string, limit uint64) (total uint64) {
	for dirs := []string{dir}; len(dirs) > 0 && total <= limit; {
		last := len(dirs) - 1
		next := dirs[last]
		dirs = dirs[:last]
		// The plugin may have replaced it meanwhile.
		open, err := os.OpenFile(next, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		for total <= limit {
			entries, _ := open.ReadDir(entriesAtOnce)
			if len(entries) == 0 {
				break
			}
			for _, entry := range entries {
				path := filepath.Join(next, entry.Name())
				if path == except {
					continue
				}
				total += entryCost
				if entry.IsDir() {
					dirs = append(dirs, path)
				} else if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
					total += uint64(info.Size())
				}
			}
		}
		_ = open.Close()
	}
	return total
}
