// Package buildtest builds programs of this repository for tests that start them.
package buildtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Program builds the program of a package into a file, with further flags of go build.
// It compiles as make does, so most of it is in the cache.
func Program(file, source string, flags ...string) error {
	if err := DependOnSources(); err != nil {
		return err
	}
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", file}, flags...), source)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", source, err, text)
	}
	return nil
}

// DependOnSources reads the directories of the repository. go test notes that, and
// takes no result from its cache once a file in one of them is another: of programs
// that tests start it knows nothing.
func DependOnSources() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	for _, dir := range []string{"adminui", "core", "migrations", "plugins", "web"} {
		walk := func(_ string, _ fs.DirEntry, err error) error { return err }
		if err := filepath.WalkDir(filepath.Join(root, dir), walk); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err = os.Stat(filepath.Join(root, "go.sum"))
	return err
}

// moduleRoot is the directory of go.mod, above the test's own.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no go.mod above the test")
		}
		dir = above
	}
}
