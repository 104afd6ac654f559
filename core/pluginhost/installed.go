package pluginhost

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// installedPlugin is an installed plugin: its manifest, and its program for this system.
type installedPlugin struct {
	manifest       *sdk.Manifest
	program        string // path
	digest         string // required SHA-256 of the program
	manifestDigest string // digest of the manifest
	memory         uint64 // bytes
	inFlight       int
}

const defaultInFlight = 16

// readInstalled reads the manifest in the plugin's directory.
func readInstalled(dir, id string) (installedPlugin, error) {
	path := filepath.Join(dir, id, sdk.ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		return installedPlugin{}, fmt.Errorf("it has no manifest: %w", err)
	}
	digest, err := sdk.Digest(strings.NewReader(string(text)))
	if err != nil {
		return installedPlugin{}, err
	}
	p := installedPlugin{manifestDigest: digest}
	if p.manifest, err = sdk.ParseManifest(text); err != nil {
		return p, fmt.Errorf("its manifest %s is invalid: %s", path, oneLine(err))
	}
	if p.manifest.ID != id {
		return p, fmt.Errorf("its manifest %s is for plugin %q", path, p.manifest.ID)
	}
	binary, err := p.manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return p, err
	}
	p.program, p.digest = filepath.Join(dir, id, binary.Path), binary.SHA256
	p.memory = p.manifest.Limits.Memory()
	p.inFlight = cmp.Or(int(p.manifest.Limits.InFlight), defaultInFlight)
	return p, nil
}

// Installed lists the plugins in a directory. Each has a subdirectory named after its id, with a manifest; a copy
// under another name does not count. A missing directory has no plugins.
func Installed(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plugin directory: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name(), sdk.ManifestName)
		if _, err := os.Stat(path); err != nil || !sdk.IsID(entry.Name()) {
			continue
		}
		// a broken one is reported later
		if manifest, err := sdk.ReadManifest(path); err != nil || manifest.ID == entry.Name() {
			ids = append(ids, entry.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Digest returns the SHA-256 digest of an installed plugin's program, from its manifest, or "" if that cannot be
// read.
func Digest(dir, id string) string {
	p, err := readInstalled(dir, id)
	if err != nil {
		return ""
	}
	return p.digest
}
