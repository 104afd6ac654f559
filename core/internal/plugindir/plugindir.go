// Package plugindir operates plugins for people: the files of a directory, and the hubs of a database.
package plugindir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Dir operates the plugins in a directory and in the hubs of a database. It reaches running hubs through the
// database.
type Dir struct {
	Path   string
	DB     *postgres.DB
	Hidden []string // from plugins that are started for a test; see hub.Database.SecretDirs
}

// hidden returns the directories that a plugin does not see when it is started for a test: those with secrets, and the
// installed plugins.
func (d Dir) hidden() []string { return append(slices.Clone(d.Hidden), d.Path) }

// Listed is a plugin with its state in the hubs.
type Listed struct {
	pluginhost.Status
	Enabled    bool       `json:"enabled"`
	Installed  string     `json:"installed,omitzero"`   // version in the directory
	ReportedAt *time.Time `json:"reported_at,omitzero"` // when a hub last reported its status
	Hubs       []Hub      `json:"hubs"`                 // running hubs that know it
	SetAside   int        `json:"set_aside"`            // requests that it is not called with
}

// Hub is a plugin in one hub.
type Hub = console.PluginHub

// Running returns the plugins that hubs run, installed here or elsewhere.
func (d Dir) Running(ctx context.Context) ([]string, error) {
	installed, err := pluginhost.Installed(d.Path)
	if err != nil {
		return nil, err
	}
	return calls.NewPlugins(d.DB).Running(ctx, installed)
}

// Find returns a plugin that is installed here or known to a hub.
func (d Dir) Find(ctx context.Context, id string) (aggregator.Plugin, error) {
	installed, err := pluginhost.Installed(d.Path)
	if err != nil {
		return aggregator.Plugin{}, err
	}
	return calls.NewPlugins(d.DB).Find(ctx, installed, id)
}

// About returns the plugin's description: the stored one, or that of a test start.
func (d Dir) About(ctx context.Context, id string) (*sdk.Description, error) {
	p, err := d.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	about := &sdk.Description{}
	if len(p.Description) > 0 {
		return about, proto.Unmarshal(p.Description, about)
	}
	err = aggregator.RunStandalone(ctx, d.Path, id, d.hidden(), func(plugin pluginhost.Plugin) error {
		about = plugin.Description()
		return nil
	})
	return about, err
}

// List returns all plugins.
func (d Dir) List(ctx context.Context) ([]Listed, error) {
	installed, err := pluginhost.Installed(d.Path)
	if err != nil {
		return nil, err
	}
	records := calls.NewPlugins(d.DB)
	if err := records.Add(ctx, installed); err != nil {
		return nil, err
	}
	plugins, err := records.List(ctx)
	if err != nil {
		return nil, err
	}
	hubs, err := records.Hubs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Listed, 0, len(plugins))
	for _, p := range plugins {
		listed := Listed{Status: pluginhost.Status{ID: p.ID}, Enabled: p.Enabled,
			Installed: VersionIn(filepath.Join(d.Path, p.ID)), Hubs: []Hub{}}
		if p.Status != "" {
			if err := json.Unmarshal([]byte(p.Status), &listed.Status); err != nil {
				return nil, fmt.Errorf("reading the status of plugin %s: %w", p.ID, err)
			}
			listed.ReportedAt = &p.ReportedAt
		}
		for _, h := range hubs {
			if h.Plugin == p.ID {
				listed.Hubs = append(listed.Hubs, h)
			}
		}
		listed.setState()
		setAside, err := p.RequestsSetAside()
		if err != nil {
			return nil, err
		}
		listed.SetAside = len(setAside)
		list = append(list, listed)
	}
	return list, nil
}

// worstStates are the states of a plugin in a hub, the worst first.
var worstStates = []pluginhost.State{pluginhost.Quarantined, pluginhost.Backoff, pluginhost.Stopped,
	pluginhost.Draining,
	pluginhost.Discovered, pluginhost.Verified, pluginhost.Starting, pluginhost.Configuring, pluginhost.Degraded,
	pluginhost.Ready}

// WorstHub returns the hub in the worst state, or nil if there is none.
func WorstHub(hubs []console.PluginHub) *console.PluginHub {
	if len(hubs) == 0 {
		return nil
	}
	worst := slices.MinFunc(hubs, func(a, b console.PluginHub) int {
		return slices.Index(worstStates, pluginhost.State(a.State)) - slices.Index(worstStates,
			pluginhost.State(b.State))
	})
	return &worst
}

// setState sets the state to the worst one in the running hubs. A report of a hub that has ended does not count.
func (p *Listed) setState() {
	p.State, p.Since, p.Health, p.PID = "", time.Time{}, "", 0
	if worst := WorstHub(p.Hubs); worst != nil {
		p.State, p.Since, p.Version, p.Health = pluginhost.State(worst.State), worst.Since, worst.Version, worst.Reason
	}
}

// Faults returns the faults of a plugin that the database keeps, and its requests that are set aside.
func (d Dir) Faults(ctx context.Context, id string) (console.PluginFaults, error) {
	if _, err := d.Find(ctx, id); err != nil {
		return console.PluginFaults{}, err
	}
	return ReadFaults(ctx, d.DB, id)
}

// ReadFaults does what Faults does, for any plugin.
func ReadFaults(ctx context.Context, db *postgres.DB, id string) (f console.PluginFaults, err error) {
	records := calls.NewPlugins(db)
	if f.Causes, err = records.Causes(ctx, id); err != nil {
		return f, err
	}
	f.SetAside, err = records.ListSetAside(ctx, id)
	return f, err
}

// Retry lets hubs call a plugin again with requests that are set aside: those with the ids, or all if there are none.
// It returns their number.
func (d Dir) Retry(ctx context.Context, id string, requests []int64) (int, error) {
	if _, err := d.Find(ctx, id); err != nil {
		return 0, err
	}
	return calls.NewPlugins(d.DB).RetrySetAside(ctx, id, requests, accessdb.CommandLineChange(0, "plugin.retry"))
}

// Enable enables or disables a plugin.
func (d Dir) Enable(ctx context.Context, id string, enabled bool) (Desired, error) {
	desired := Desired{ID: id, Enabled: enabled, Installed: VersionIn(filepath.Join(d.Path, id))}
	if _, err := d.Find(ctx, id); err != nil {
		return desired, err
	}
	return desired, calls.NewPlugins(d.DB).SetEnabled(ctx, id, enabled)
}

// Remove removes a plugin from every hub, and deletes its files here. It returns their directory.
func (d Dir) Remove(ctx context.Context, id string) (string, error) {
	files := filepath.Join(d.Path, id)
	if _, err := d.Find(ctx, id); err != nil {
		return files, err
	}
	records := calls.NewPlugins(d.DB)
	if err := errors.Join(records.Add(ctx, []string{id}), records.Remove(ctx, id)); err != nil {
		return files, err
	}
	if err := os.RemoveAll(files); err != nil {
		return files, fmt.Errorf("plugin %s is removed, but deleting its files failed: %w", id, err)
	}
	return files, nil
}

// VersionIn returns the version of the plugin in a directory, or "" if there is none.
func VersionIn(dir string) string {
	manifest, err := sdk.ReadManifest(filepath.Join(dir, sdk.ManifestName))
	if err != nil {
		return ""
	}
	return manifest.Version
}
