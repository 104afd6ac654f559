package hub

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// DesiredPlugin is the desired state of a plugin.
type DesiredPlugin struct {
	ID               string      `json:"id"`
	Enabled          bool        `json:"enabled"`
	Installed        string      `json:"installed,omitzero"` // version in the directory
	RejectedSettings []string    `json:"unfit,omitzero"`     // platforms whose settings it rejects
	Hubs             []ListedHub `json:"hubs,omitzero"`      // running hubs, if they were waited for

	build string    // SHA-256 of the installed manifest
	since time.Time // when it was installed
}

// Summary describes the result of an installation for people.
func (p DesiredPlugin) Summary(result string) string {
	if !p.Enabled {
		result += ", but it stays disabled"
	}
	text := fmt.Sprintf("plugin %s %s is %s\n", p.ID, p.Installed, result)
	for _, platform := range p.RejectedSettings {
		text += fmt.Sprintf("it rejects the settings of %s: correct them with servery platform set\n", platform)
	}
	return text
}

// InstallOptions select how a plugin is installed.
type InstallOptions struct {
	Upgrade   bool // a disabled plugin stays disabled
	Unchecked bool // skips the test start
	Force     bool // installs a version that rejects stored settings
}

// Install verifies, test-starts and copies a plugin from a directory, and notifies the hubs. If the version does not
// start, or rejects the stored settings of a platform, the installed one stays.
func (d PluginDir) Install(ctx context.Context, from string, options InstallOptions) (DesiredPlugin, error) {
	text, err := os.ReadFile(filepath.Join(from, sdk.ManifestName))
	if err != nil {
		return DesiredPlugin{}, err
	}
	manifest, err := sdk.ReadManifest(filepath.Join(from, sdk.ManifestName))
	if err != nil {
		return DesiredPlugin{}, err
	}
	desired := DesiredPlugin{ID: manifest.ID, Enabled: true, Installed: manifest.Version, since: d.DB.Clock().Now()}
	if desired.build, err = sdk.Digest(bytes.NewReader(text)); err != nil {
		return desired, err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err == nil {
		err = binary.VerifyIn(from)
	}
	if err == nil && !options.Unchecked {
		desired.RejectedSettings, err = d.testStart(ctx, from, manifest.ID)
	}
	if err == nil && len(desired.RejectedSettings) > 0 && !options.Force {
		err = rejectedSettingsError(desired)
	}
	if err == nil {
		err = pluginhost.Install(d.Dir, from, manifest.ID, binary.Path)
	}
	if err != nil {
		return desired, err
	}
	p, err := d.Find(ctx, manifest.ID)
	if err != nil {
		return desired, err
	}
	desired.Enabled = p.Enabled || !options.Upgrade
	return desired, calls.NewPlugins(d.DB).SetEnabled(ctx, manifest.ID, desired.Enabled)
}

// testStart starts the version to install, and returns the platforms whose settings it rejects.
func (d PluginDir) testStart(ctx context.Context, from, id string) (rejected []string, err error) {
	platforms, err := calls.NewPlugins(d.DB).InUse(ctx, id)
	if err != nil {
		return nil, err
	}
	err = aggregator.RunFromDirectory(ctx, from, id, func(plugin pluginhost.Plugin) error {
		rejected, err = aggregator.SettingsErrors(ctx, plugin, platforms)
		return err
	})
	return rejected, err
}

// maxRejectedSettings bounds the platforms that an error lists.
const maxRejectedSettings = 100

// rejectedSettingsError lists the platforms whose settings the version to install rejects.
func rejectedSettingsError(p DesiredPlugin) error {
	list := p.RejectedSettings
	if more := len(list) - maxRejectedSettings; more > 0 {
		list = append(list[:maxRejectedSettings:maxRejectedSettings], fmt.Sprintf("and %d more", more))
	}
	return core.Errorf(core.Conflict, "plugin %s %s is not installed: it rejects settings of %d platforms:\n  %s\n"+
		"correct them with `servery platform set`, or add --force", p.ID, p.Installed, len(p.RejectedSettings),
		strings.Join(list, "\n  "))
}
