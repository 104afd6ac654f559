package plugintest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Program is the program of a plugin.
type Program struct {
	Path     string
	Manifest *sdk.Manifest // nil: none
}

// Find returns the program at a path: the program, its manifest, or the directory of both.
func Find(path string) (p Program, err error) {
	file := filepath.Join(filepath.Dir(path), sdk.ManifestName)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return p, err
	case info.IsDir():
		file = filepath.Join(path, sdk.ManifestName)
	case filepath.Ext(path) == ".yaml" || filepath.Ext(path) == ".yml":
		file = path
	default:
		p.Path = path
	}
	manifest, err := sdk.ReadManifest(file)
	switch {
	case p.Path != "" && (errors.Is(err, fs.ErrNotExist) || err == nil && !listsProgram(manifest, path)):
		return p, nil // a program without a manifest
	case err != nil:
		return p, err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return p, err
	}
	return Program{filepath.Join(filepath.Dir(file), binary.Path), manifest}, binary.VerifyIn(filepath.Dir(file))
}

func listsProgram(manifest *sdk.Manifest, program string) bool {
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	return err == nil && filepath.Join(filepath.Dir(program), binary.Path) == filepath.Clean(program)
}

// Golden returns the directory testdata beside the program or beside its directory, or "" if neither has inputs.
func (p Program) Golden() string {
	beside := filepath.Dir(p.Path)
	for _, dir := range []string{filepath.Join(beside, "testdata"), filepath.Join(beside, "..", "testdata")} {
		if inputs, _ := filepath.Glob(filepath.Join(dir, "*"+inputSuffix)); len(inputs) > 0 {
			return dir
		}
	}
	return ""
}

// Driver returns a driver that runs the program as its manifest says, if it has one. A transport overrides the
// manifest's; "" does not.
func (p Program) Driver(transport string) Driver {
	if p.Manifest == nil {
		return Subprocess(p.Path, transport)
	}
	return Subprocess(p.Path, cmp.Or(transport, p.Manifest.Transport), p.Manifest.Limits)
}

// ManifestOf starts a program and returns a manifest for it on this system.
func ManifestOf(ctx context.Context, path, transport string) ([]byte, error) {
	running, err := Subprocess(path, transport).Start()
	if err != nil {
		return nil, err
	}
	about, err := running.Client.Describe(ctx)
	if stopped := running.Stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return nil, err
	}
	binary, err := sdk.BinaryOf(path)
	if err != nil {
		return nil, err
	}
	return sdk.ManifestOf(about, transport, binary).YAML()
}
