package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PluginDirs are the directories for a check of plugins.
type PluginDirs struct {
	Plugins string   // one directory each
	Data    string   // the hub's
	Hidden  []string // that plugins must not see
}

// Plugins checks the manifest and the digest of every installed plugin. It starts the enabled ones, separately from
// running hubs.
func (d *Doctor) Plugins(ctx context.Context, db *postgres.DB, dirs PluginDirs) {
	dir, data := dirs.Plugins, dirs.Data
	installed, err := pluginhost.Installed(dir)
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "make the directory readable, or set SERVERY_PLUGIN_DIR")
		return
	}
	enabled, err := calls.NewPlugins(db).Running(ctx, installed)
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "see the log of PostgreSQL")
		return
	}
	for _, id := range enabled {
		if !slices.Contains(installed, id) {
			d.Add("plugin "+id, Warn, "it is enabled, but not in "+dir,
				"install it here, or run `servery plugin disable "+id+"`")
		}
	}
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Hidden: dirs.Hidden, Clock: db.Clock(),
		Observer: aggregator.NoopObserver{}, Log: d.Log})
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "set TMPDIR to a directory that is not mounted with noexec")
		return
	}
	defer host.Close()
	d.isolation(host, data)
	for _, id := range installed {
		switch err := checkInstalled(dir, id); {
		case err != nil:
			d.Add("plugin "+id, Fail, err.Error(), "reinstall it with `servery plugin install DIR`")
		case !slices.Contains(enabled, id):
			d.Add("plugin "+id, OK, "disabled", "")
		default:
			host.Start(id)
		}
	}
	aggregator.AwaitSettled(ctx, host, aggregator.ReadyTimeout)
	for _, status := range host.Status() {
		switch {
		case status.State == pluginhost.Ready:
			d.Add("plugin "+status.ID, OK, status.Version+" starts and responds", "")
			d.settings(ctx, db, host.Plugin(status.ID))
		case len(status.Faults) > 0 && strings.Contains(status.Faults[0].Text, "permission denied"):
			d.Add("plugin "+status.ID, Fail, "it may not be executed: "+status.Faults[0].Text,
				"set TMPDIR to a directory that is not mounted with noexec")
		case len(status.Faults) > 0:
			d.Add("plugin "+status.ID, Fail, "it does not start: "+status.Faults[0].Text,
				"see `servery plugin logs "+status.ID+"`, and run `servery plugin test`")
		default:
			d.Add("plugin "+status.ID, Warn, fmt.Sprintf("it is not ready within %v", aggregator.ReadyTimeout),
				"see `servery plugin logs "+status.ID+"`")
		}
	}
	if len(installed) == 0 {
		d.Add("plugins", OK, "none are installed in "+dir, "")
	}
}

// isolation reports what plugins could access.
func (d *Doctor) isolation(host *pluginhost.Host, data string) {
	const check = "plugin isolation"
	switch reason := host.Isolation(); {
	case reason != "":
		d.Add(check, Warn,
			fmt.Sprintf(
				"plugins run without isolation: they could read %s and the database password, and use the network (%s)",
				filepath.Join(data, "secret.key"), reason),
			"allow user namespaces, or run only trusted plugins, with the key in SERVERY_SECRET_KEY")
	case os.Geteuid() == 0:
		d.Add(check, Warn, "plugins see neither "+data+
			" nor the network, but run as root and could change its files",
			"run the hub as an ordinary user")
	default:
		d.Add(check, OK, "plugins see neither "+data+" nor the network nor other processes", "")
	}
}

// settings checks the settings of platforms with the plugin that serves them.
func (d *Doctor) settings(ctx context.Context, db *postgres.DB, plugin pluginhost.Plugin) {
	platforms, err := calls.NewPlugins(db).InUse(ctx, plugin.ID())
	var found []string
	if err == nil {
		found, err = aggregator.SettingsErrors(ctx, plugin, platforms)
	}
	if err != nil {
		d.Add("plugin "+plugin.ID(), Fail, "checking the settings of platforms failed: "+err.Error(),
			"see `servery plugin logs "+plugin.ID()+"`")
	}
	for _, platform := range found {
		d.Add("plugin "+plugin.ID(), Fail, "it rejects the settings of "+platform,
			"correct them with `servery platform set`")
	}
}

// checkInstalled checks the files of an installed plugin.
func checkInstalled(dir, id string) error {
	manifest, err := sdk.ReadManifest(filepath.Join(dir, id, sdk.ManifestName))
	if err != nil {
		return err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	return binary.VerifyIn(filepath.Join(dir, id))
}
