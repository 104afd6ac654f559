package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// plugins checks the manifest and the digest of every installed plugin, and
// starts those that operators want, apart from the hubs that run.
func (d *doctor) plugins(ctx context.Context, dir string, database *database, data string) {
	db := database.DB
	installed, err := pluginhost.Installed(dir)
	if err != nil {
		d.say("plugins", broken, err.Error(), "make the directory readable, or set SERVERY_PLUGIN_DIR")
		return
	}
	enabled, err := enabledPlugins(ctx, dir, db)
	if err != nil {
		d.say("plugins", broken, err.Error(), "see the log of PostgreSQL")
		return
	}
	for _, id := range enabled {
		if !slices.Contains(installed, id) {
			d.say("plugin "+id, doubt, "hubs are to run it, but it is not in "+dir, "install it here, or run `servery plugin disable "+id+"`")
		}
	}
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Hidden: database.secretDirs(data), Clock: db.Clock(), Observer: newPluginMetrics(), Log: d.log})
	if err != nil {
		d.say("plugins", broken, err.Error(), "let TMPDIR name a directory that allows programs to be run")
		return
	}
	defer host.Close()
	d.isolation(host, data)
	for _, id := range installed {
		switch err := parcelOf(dir, id); {
		case err != nil:
			d.say("plugin "+id, broken, err.Error(), "install it again: servery plugin install DIR")
		case !slices.Contains(enabled, id):
			d.say("plugin "+id, fine, "disabled", "")
		default:
			host.Start(id)
		}
	}
	(&pluginHost{Host: host}).await(ctx, pluginsReadyWithin)
	for _, status := range host.Status() {
		switch {
		case status.State == pluginhost.Ready:
			d.say("plugin "+status.ID, fine, status.Version+" starts and answers", "")
			d.settings(ctx, db, host.Plugin(status.ID))
		case len(status.Faults) > 0 && strings.Contains(status.Faults[0].Text, "permission denied"):
			d.say("plugin "+status.ID, broken, "it may not be run: "+status.Faults[0].Text, "let TMPDIR name a directory that allows programs to be run, not one that is mounted with noexec")
		case len(status.Faults) > 0:
			d.say("plugin "+status.ID, broken, "it does not start: "+status.Faults[0].Text, "see `servery plugin logs "+status.ID+"`; try it alone by `servery plugin test`")
		default:
			d.say("plugin "+status.ID, doubt, fmt.Sprintf("it is not ready within %v", pluginsReadyWithin), "see `servery plugin logs "+status.ID+"`")
		}
	}
	if len(installed) == 0 {
		d.say("plugins", fine, "none are installed in "+dir, "")
	}
}

// isolation tells what the programs of plugins could reach.
func (d *doctor) isolation(host *pluginhost.Host, data string) {
	const check = "plugin isolation"
	switch why := host.Isolation(); {
	case why != "":
		d.say(check, doubt, fmt.Sprintf("plugins run with all rights of this user: they could read %s and the password of the private PostgreSQL, and use the network (%s)",
			filepath.Join(data, "secret.key"), why),
			"run plugins that you trust alone, or allow namespaces of users (kernel, container, systemd unit); give the hub its key by SERVERY_SECRET_KEY")
	case os.Geteuid() == 0:
		d.say(check, doubt, "plugins see neither "+data+" nor the network, but run as root: they could change files of root elsewhere", "run the hub as an ordinary user")
	default:
		d.say(check, fine, "plugins see neither "+data+" nor the network nor other processes", "")
	}
}

// settings holds the settings of platforms against the plugin that serves them.
func (d *doctor) settings(ctx context.Context, db *postgres.DB, plugin pluginhost.Plugin) {
	bound, err := postgres.Plugins{DB: db}.InUse(ctx, plugin.ID())
	var found []string
	if err == nil {
		found, err = misfits(ctx, plugin, bound)
	}
	if err != nil {
		d.say("plugin "+plugin.ID(), broken, "the settings of platforms could not be checked: "+err.Error(), "see `servery plugin logs "+plugin.ID()+"`")
	}
	for _, unfit := range found {
		d.say("plugin "+plugin.ID(), broken, "it does not take the settings of "+unfit, "give the platform others: `servery platform set`")
	}
}

// parcelOf tells what is wrong with the files of an installed plugin.
func parcelOf(dir, id string) error {
	manifest, err := sdk.ReadManifest(filepath.Join(dir, id, sdk.ManifestName))
	if err != nil {
		return err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	return verifyBinary(filepath.Join(dir, id), binary)
}
