package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PluginDirs are the directories for a check of plugins.
type PluginDirs struct {
	Plugins string   // one directory each
	Data    string   // the hub's
	Hidden  []string // that plugins must not see
}

// Plugins checks the manifest and the digest of every installed plugin. It reports the state of the enabled ones in the
// running hubs. If no hub runs a plugin, it tries whether the plugin starts here.
func (d *Doctor) Plugins(ctx context.Context, db *postgres.DB, dirs PluginDirs) {
	dir, data := dirs.Plugins, dirs.Data
	installed, err := pluginhost.Installed(dir)
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "make the directory readable, or set SERVERY_PLUGIN_DIR")
		return
	}
	records := calls.NewPlugins(db)
	enabled, err := records.Running(ctx, installed)
	var hubs []console.PluginHub
	if err == nil {
		hubs, err = records.Hubs(ctx)
	}
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "see the log of PostgreSQL")
		return
	}
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Hidden: dirs.Hidden, Clock: db.Clock(),
		Observer: aggregator.NoopObserver{}, Log: d.Log})
	if err != nil {
		d.Add("plugins", Fail, err.Error(), "set TMPDIR to a directory that is not mounted with noexec")
		return
	}
	defer host.Close()
	d.isolation(host, data)
	for _, id := range enabled {
		running := slices.DeleteFunc(slices.Clone(hubs), func(h console.PluginHub) bool { return h.Plugin != id })
		switch {
		case len(running) > 0:
			d.running(id, running)
		case !slices.Contains(installed, id):
			d.Add("plugin "+id, Warn, "it is enabled, but in no running hub and not in "+dir,
				"install it here, or run `servery plugin disable "+id+"`")
		}
	}
	for _, id := range installed {
		if _, _, err := sdk.ReadInstalled(filepath.Join(dir, id)); err != nil {
			d.Add("plugin "+id, Fail, err.Error(), "reinstall it with `servery plugin install DIR`")
		} else if !slices.Contains(enabled, id) {
			d.Add("plugin "+id, OK, "disabled", "")
		} else {
			host.Start(id) // also for the check of settings
		}
	}
	d.trialStarts(ctx, db, host, hubs)
	if len(installed) == 0 {
		d.Add("plugins", OK, "none are installed in "+dir, "")
	}
}

// running reports the state of a plugin in the hubs that run it.
func (d *Doctor) running(id string, hubs []console.PluginHub) {
	for _, h := range console.GroupPluginHubs(hubs) {
		found := fmt.Sprintf("%s is %s in %d of %d running hubs, since %s", h.Version, h.State, h.Hubs, len(hubs),
			h.Since.UTC().Format(time.RFC3339))
		if h.Reason != "" {
			found += ": " + h.Reason
		}
		switch pluginhost.State(h.State) {
		case pluginhost.Ready:
			d.Add("plugin "+id, OK, found, "")
		case pluginhost.Quarantined:
			d.Add("plugin "+id, Fail, found+" ("+pluginhost.QuarantineRule+")",
				"see `servery plugin faults "+id+"`, then run `servery plugin enable "+id+"`")
		case pluginhost.Backoff:
			d.Add("plugin "+id, Fail, found, "see `servery plugin faults "+id+"`")
		default:
			d.Add("plugin "+id, Warn, found, "see `servery plugin logs "+id+"`")
		}
	}
}

// trialStarts waits for the plugins of a host that is separate from the running hubs. It reports the starts of those
// that no hub runs, and checks the settings of platforms.
func (d *Doctor) trialStarts(ctx context.Context, db *postgres.DB, host *pluginhost.Host, hubs []console.PluginHub) {
	aggregator.AwaitSettled(ctx, host, aggregator.ReadyTimeout)
	for _, status := range host.Status() {
		if status.State == pluginhost.Ready {
			d.settings(ctx, db, host.Plugin(status.ID))
		}
		if slices.ContainsFunc(hubs, func(h console.PluginHub) bool { return h.Plugin == status.ID }) {
			continue
		}
		const trial = "no running hub has it; a trial start here "
		switch {
		case status.State == pluginhost.Ready:
			d.Add("plugin "+status.ID, OK, trial+"of "+status.Version+" succeeded", "")
		case len(status.Faults) > 0 && status.Faults[0].Denied:
			d.Add("plugin "+status.ID, Fail, trial+"was not permitted: "+status.Faults[0].Text,
				"set TMPDIR to a directory that is not mounted with noexec")
		case len(status.Faults) > 0:
			d.Add("plugin "+status.ID, Fail, trial+"failed: "+status.Faults[0].Text,
				"see `servery plugin logs "+status.ID+"`, and run `servery plugin test`")
		default:
			d.Add("plugin "+status.ID, Warn, fmt.Sprintf("%stook more than %v", trial, aggregator.ReadyTimeout),
				"see `servery plugin logs "+status.ID+"`")
		}
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

// settings checks the settings and access of platforms with the plugin that serves them.
func (d *Doctor) settings(ctx context.Context, db *postgres.DB, plugin pluginhost.Plugin) {
	bound, err := calls.NewPlugins(db).InUse(ctx, plugin.ID())
	var found []string
	var lacking []aggregator.MissingAccess
	if err == nil {
		found, err = aggregator.SettingsErrors(ctx, plugin, bound)
	}
	if err == nil {
		lacking, err = aggregator.FindMissingAccess(ctx, platforms.New(db), plugin.Description(), bound)
	}
	if err != nil {
		d.Add("plugin "+plugin.ID(), Fail, "checking the settings of platforms failed: "+err.Error(),
			"see `servery plugin logs "+plugin.ID()+"`")
	}
	for _, platform := range found {
		d.Add("plugin "+plugin.ID(), Fail, "it rejects the settings of "+platform,
			"correct them with `servery platform set`")
	}
	for _, m := range lacking {
		d.Add("plugin "+plugin.ID(), Warn, m.String(), "set them with `servery platform set`")
	}
}
