package pluginhost

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// removePluginDir removes a directory of a plugin whose processes have ended. The plugin may have made directories
// unreadable, which the hub cannot remove unless it is root. It may also have nested more directories than the hub
// can have open files, and os.RemoveAll opens one for each level.
func removePluginDir(dir string) error {
	below, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer below.Close()
	return removeIn(below, filepath.Base(dir))
}

// removeIn is removePluginDir for a directory in an open one. It follows no links out of that.
func removeIn(below *os.Root, name string) error {
	info, err := below.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = flatten(below, name)
	}
	return errors.Join(err, below.RemoveAll(name))
}

// flatten makes the directories below one readable, and moves all of them to the same level.
func flatten(below *os.Root, name string) error {
	if err := below.Chmod(name, 0o700); err != nil {
		return err
	}
	dir, err := below.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	into := rand.Text() // no name that the plugin could have used
	moved, err := moveDirs(dir, ".", into, 0)
	for n := 0; n < moved && err == nil; n++ {
		moved, err = moveDirs(dir, filepath.Join(into, strconv.Itoa(n)), into, moved)
	}
	return err
}

// moveDirs moves the directories in one into another, with numbers as names. moved is the first number, and the result
// the next one.
func moveDirs(dir *os.Root, from, into string, moved int) (int, error) {
	open, err := dir.Open(from)
	if err != nil {
		return moved, err
	}
	defer open.Close()
	for {
		entries, err := open.ReadDir(entriesAtOnce)
		if len(entries) == 0 {
			if err == io.EOF {
				err = nil
			}
			return moved, err
		}
		for _, entry := range entries {
			if !entry.IsDir() || from == "." && entry.Name() == into {
				continue
			}
			if moved == 0 {
				if err := dir.Mkdir(into, 0o700); err != nil {
					return moved, err
				}
			}
			path := filepath.Join(from, entry.Name())
			if err := dir.Chmod(path, 0o700); err != nil { // only a writable directory can be moved
				return moved, err
			}
			if err := dir.Rename(path, filepath.Join(into, strconv.Itoa(moved))); err != nil {
				return moved, err
			}
			moved++
		}
	}
}
