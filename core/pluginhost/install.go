package pluginhost

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Install copies a plugin's program and manifest into a directory of plugins, whose hosts then start it. The manifest
// comes last: until then a host rejects the program for its digest and keeps the running version.
func Install(dir, from, id, program string) error {
	for _, name := range []string{program, sdk.ManifestName} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(dir, id, name)); err != nil {
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
