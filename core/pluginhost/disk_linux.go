package pluginhost

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// entryCost is what an entry counts in addition to its size, in bytes.
const entryCost = 4 << 10

// filesBelow returns the size of the files below a directory, except one of them. It stops above a limit, so that it
// takes little time whatever a plugin has written. If something cannot be measured, it returns unmeasured.
// Files that were removed but are still open do not count.
func filesBelow(dir string, except fs.FileInfo, limit uint64) uint64 {
	sum := diskSum{except: except, limit: limit, dirs: []string{dir}}
	for len(sum.dirs) > 0 && sum.total <= limit {
		last := len(sum.dirs) - 1
		next := sum.dirs[last]
		sum.dirs = sum.dirs[:last]
		if err := sum.addDir(next); hides(err) {
			return unmeasured
		}
	}
	return sum.total
}

// hides reports whether an error shows that a plugin keeps files from being measured. It does not if something was
// removed or replaced meanwhile, or if the system lacks files or memory.
func hides(err error) bool {
	return err != nil && !slices.ContainsFunc([]error{
		io.EOF, syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ESTALE, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOMEM,
	}, func(passing error) bool { return errors.Is(err, passing) })
}

// diskSum is a sum of sizes in the making.
type diskSum struct {
	except       fs.FileInfo
	total, limit uint64
	dirs         []string // still to be read
}

// addDir adds the entries of a directory.
func (s *diskSum) addDir(dir string) error {
	// The plugin may have replaced it meanwhile.
	open, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer open.Close()
	for s.total <= s.limit {
		entries, err := open.ReadDir(entriesAtOnce)
		if len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			if err := s.addEntry(filepath.Join(dir, entry.Name()), entry); hides(err) {
				return err
			}
		}
	}
	return nil
}

func (s *diskSum) addEntry(path string, entry fs.DirEntry) error {
	if entry.IsDir() {
		s.total += entryCost
		s.dirs = append(s.dirs, path)
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if os.SameFile(info, s.except) { // not another one that has taken its name
		return nil
	}
	s.total += entryCost
	if info.Mode().IsRegular() {
		s.total += sizeOf(info)
	}
	return nil
}

// sizeOf returns the size of a file or the space that it takes, whichever is more. fallocate takes space beyond the
// end of a file.
func sizeOf(info fs.FileInfo) uint64 {
	size := uint64(info.Size())
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		size = max(size, uint64(stat.Blocks)*512)
	}
	return size
}
