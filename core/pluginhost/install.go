package pluginhost

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Installation replaces the version of a plugin in a directory of plugins. Close it.
type Installation struct {
	dir, from, id string
	program       string // file name
	former        string // directory with a copy of the former version, or "" if there is none
	formerProgram string
	installed     bool
}

// Prepare returns an installation from a directory. It copies the version that it will replace.
func Prepare(dir, from, id, program string) (*Installation, error) {
	n := &Installation{dir: dir, from: from, id: id, program: program}
	former, err := readInstalled(dir, id)
	if err != nil { // there is none, or it cannot run
		return n, nil
	}
	if n.former, err = os.MkdirTemp("", "servery-former-"); err != nil {
		return nil, err
	}
	if n.formerProgram, err = filepath.Rel(filepath.Join(dir, id), former.program); err == nil {
		err = CopyInstalled(dir, id, n.former)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // its program is missing
		n.Close()
		n.former = ""
	case err != nil:
		n.Close()
		return nil, err
	}
	return n, nil
}

// CopyInstalled copies the installed version of a plugin into a directory.
func CopyInstalled(dir, id, into string) error {
	p, err := readInstalled(dir, id)
	if err != nil {
		return err
	}
	program, err := filepath.Rel(filepath.Join(dir, id), p.program)
	if err != nil {
		return err
	}
	return copyBuild(filepath.Join(dir, id), into, program)
}

// Install copies the program and the manifest into the directory of plugins, whose hosts then start it. The manifest
// comes last: until then a host rejects the program for its digest and keeps the running version.
func (n *Installation) Install() error {
	n.installed = true
	return copyBuild(n.from, filepath.Join(n.dir, n.id), n.program)
}

// Undo restores the former version, if Install was called.
func (n *Installation) Undo() error {
	switch {
	case !n.installed:
		return nil
	case n.former == "":
		return os.Remove(filepath.Join(n.dir, n.id, sdk.ManifestName))
	}
	return copyBuild(n.former, filepath.Join(n.dir, n.id), n.formerProgram)
}

// Close deletes the copy of the former version.
func (n *Installation) Close() {
	if n.former != "" {
		_ = os.RemoveAll(n.former)
	}
}

// copyBuild copies the files of a plugin, the manifest last.
func copyBuild(from, to, program string) error {
	for _, name := range []string{program, sdk.ManifestName} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyFile replaces a file with a copy atomically.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	target, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	err = errors.Join(err, target.Chmod(info.Mode().Perm()), target.Sync(), target.Close())
	if err == nil {
		err = os.Rename(target.Name(), to)
	}
	if err != nil {
		_ = os.Remove(target.Name())
	}
	return err
}
