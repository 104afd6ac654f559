// Package atomicfile creates files that are complete or absent, also after a crash.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create writes a file atomically, readable only by its owner. It does not replace an existing file.
func Create(file string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if _, err := temporary.Write(content); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
