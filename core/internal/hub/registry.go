package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginRegistry reads the plugins of all hubs for the console (adminui.Plugins).
type pluginRegistry struct {
	db   *postgres.DB
	host *aggregator.Host
}

// maxServedPlatforms bounds the platforms that are read.
const maxServedPlatforms = 5000

// ListPlugins returns every plugin, with the platforms that it serves in businesses; nil means all businesses. Its log
// and the texts of its problems can name orders of any business, so they are returned for all businesses only.
func (r pluginRegistry) ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error) {
	stored, err := calls.NewPlugins(r.db).List(ctx)
	if err != nil {
		return nil, err
	}
	hubs, err := calls.NewPlugins(r.db).Hubs(ctx)
	if err != nil {
		return nil, err
	}
	served, findings, err := consoleview.New(r.db).ServedPlatforms(ctx, businesses, maxServedPlatforms)
	if err != nil {
		return nil, err
	}
	list := make([]console.Plugin, 0, len(stored))
	for _, p := range stored {
		plugin, err := reportedPlugin(p)
		if err != nil {
			return nil, err
		}
		plugin.Installed = plugindir.VersionIn(filepath.Join(r.host.Dir(), p.ID))
		plugin.Serves, plugin.Findings = served[p.ID], findings[p.ID]
		if plugin.SetAside, err = countSetAside(p, businesses); err != nil {
			return nil, err
		}
		for _, hub := range hubs {
			if hub.Plugin == p.ID {
				plugin.Hubs = append(plugin.Hubs, hub)
			}
		}
		if worst := plugindir.WorstHub(plugin.Hubs); worst != nil {
			plugin.State, plugin.Since, plugin.Version = worst.State, worst.Since, worst.Version
			plugin.Reason = worst.Reason
		}
		if businesses != nil {
			plugin.Log, plugin.Faults, plugin.Health, plugin.Reason = nil, nil, "", ""
			for i := range plugin.Hubs {
				plugin.Hubs[i].Reason = ""
			}
		}
		list = append(list, plugin)
	}
	return list, nil
}

// visibleTo reports whether something of a business may be shown to a user with the given businesses; nil means all.
// Business 0 stands for several.
func visibleTo(businesses []core.BusinessID, business core.BusinessID) bool {
	return businesses == nil || slices.Contains(businesses, business)
}

// countSetAside returns the number of requests of the businesses that are set aside.
func countSetAside(p aggregator.Plugin, businesses []core.BusinessID) (n int, err error) {
	requests, err := p.RequestsSetAside()
	for _, r := range requests {
		if visibleTo(businesses, r.Business) {
			n++
		}
	}
	return n, err
}

// PluginFaults returns the faults of a plugin and its requests that are set aside, of the given businesses; nil means
// all. Only then are lines of the log included.
func (r pluginRegistry) PluginFaults(ctx context.Context, id string,
	businesses []core.BusinessID) (f console.PluginFaults, err error) {
	if f, err = plugindir.ReadFaults(ctx, r.db, id); err != nil {
		return f, err
	}
	f.Causes = slices.DeleteFunc(f.Causes,
		func(c console.PluginCause) bool { return !visibleTo(businesses, c.Business) })
	f.SetAside = slices.DeleteFunc(f.SetAside,
		func(s console.SetAside) bool { return !visibleTo(businesses, s.Business) })
	if businesses != nil {
		for i := range f.Causes {
			f.Causes[i].Text = pluginhost.WithoutLog(f.Causes[i].Text)
		}
		for i := range f.SetAside {
			f.SetAside[i].Fault = pluginhost.WithoutLog(f.SetAside[i].Fault)
		}
	}
	return f, nil
}

// SharedInbound returns the state of the shared URL of a plugin.
func (r pluginRegistry) SharedInbound(ctx context.Context, id string) (console.SharedInbound, error) {
	return platforms.NewShared(r.db).SharedInbound(ctx, id)
}

// RetrySetAside lets hubs call a plugin again with requests that are set aside.
func (r pluginRegistry) RetrySetAside(ctx context.Context, id string, requests []int64, change access.Change) error {
	_, err := calls.NewPlugins(r.db).RetrySetAside(ctx, id, requests, change)
	return err
}

// reportedPlugin converts the reported status of a plugin.
func reportedPlugin(p aggregator.Plugin) (console.Plugin, error) {
	plugin := console.Plugin{ID: p.ID, Enabled: p.Enabled}
	if p.Status != "" {
		var status aggregator.StatusReport
		if err := json.Unmarshal([]byte(p.Status), &status); err != nil {
			return plugin, fmt.Errorf("reading the status of plugin %s: %w", p.ID, err)
		}
		plugin.Version, plugin.Digest, plugin.State = status.Version, status.Digest, string(status.State)
		plugin.Since, plugin.Starts = status.Since, status.Starts
		plugin.Log, plugin.ReportedAt, plugin.Health = status.Log, p.ReportedAt, status.Health
		for _, fault := range status.Faults {
			plugin.Faults = append(plugin.Faults, console.PluginFault{At: fault.At, Text: fault.Text,
				Ended: fault.Ended})
		}
	}
	about := &sdk.Description{}
	if err := proto.Unmarshal(p.Description, about); err != nil {
		return plugin, fmt.Errorf("reading the stored description of plugin %s: %w", p.ID, err)
	}
	plugin.About = pluginAbout(about)
	return plugin, nil
}

func pluginAbout(about *sdk.Description) console.PluginAbout {
	out := console.PluginAbout{Name: about.GetDisplayName(), Capabilities: about.GetCapabilities(),
		Schema: about.GetSettingsSchema(), Actions: aggregator.Offers(about)}
	for _, group := range about.GetVocabulary() {
		out.Groups = append(out.Groups, group.GetGroup())
	}
	for _, inbound := range about.GetInbound() {
		out.Inbound = append(out.Inbound,
			console.PluginInbound{Kind: inbound.GetKind(), Proof: sdk.DescribeInbound(inbound),
				Secret: inbound.GetSecret(), Endpoint: inbound.GetToken().GetEndpoint(),
				Shared: inbound.GetShared() != nil})
	}
	for _, e := range about.GetEndpoints() {
		out.Endpoints = append(out.Endpoints,
			console.PluginEndpoint{Name: e.GetName(), Description: e.GetDescription(), Hosts: e.GetHosts()})
	}
	for _, s := range about.GetSecrets() {
		out.Secrets = append(out.Secrets, console.PluginSecret{Name: s.GetName(), Description: s.GetDescription()})
	}
	for _, o := range about.GetCredentials() {
		if o.GetOauth2() != nil {
			out.Tokens = append(out.Tokens, o.GetName())
		}
		if o.GetOauth2().GetAuthorizeUrl() != "" {
			out.Logins = append(out.Logins, o.GetName())
		}
	}
	return out
}

// CheckSettings returns Invalid if the plugin rejects the settings of a platform, and Unavailable if it cannot be
// called now.
func (r pluginRegistry) CheckSettings(ctx context.Context, id string, business core.BusinessID, platform string,
	settings []byte) error {
	tenant, err := accessdb.New(r.db).Business(ctx, business)
	if err != nil {
		return err
	}
	problems, err := r.host.Plugin(id).CheckSettings(ctx,
		pluginhost.Subject{Business: business, Platform: platform, Settings: settings, Currency: tenant.Currency})
	if err != nil {
		return err
	}
	return aggregator.InvalidSettings(platform, r.host.Plugin(id).Description(), problems)
}

// CheckAddress returns Invalid if the plugin's manifest does not allow the URL of an endpoint.
func (r pluginRegistry) CheckAddress(ctx context.Context, id, endpoint, address string) error {
	stored, err := calls.NewPlugins(r.db).List(ctx)
	if err != nil {
		return err
	}
	for _, p := range stored {
		if p.ID == id {
			about := &sdk.Description{}
			if err := proto.Unmarshal(p.Description, about); err != nil {
				return err
			}
			return pluginhost.CheckEndpointURL(about, endpoint, address)
		}
	}
	return core.Errorf(core.NotFound, "there is no plugin %q", id)
}
