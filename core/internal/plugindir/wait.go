package plugindir

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
)

// reportPollInterval is how often a command reads what hubs report.
const reportPollInterval = 500 * time.Millisecond

// AwaitReady waits until every running hub reports that the installed build of a plugin is ready, and returns the
// states there. After the timeout its error describes each hub where the build is not ready.
func (d Dir) AwaitReady(ctx context.Context, p Desired, timeout time.Duration) ([]Hub, error) {
	if !p.Enabled {
		return nil, core.Errorf(core.Conflict,
			"plugin %s is disabled, and hubs do not start it: run `servery plugin enable %s`", p.ID, p.ID)
	}
	clock := d.DB.Clock()
	for due := clock.Now().Add(timeout); ; {
		reports, err := calls.NewPlugins(d.DB).Hubs(ctx)
		if err != nil {
			return nil, err
		}
		hubs := hubsOf(p.ID, reports)
		problems := notReady(p, hubs)
		if len(problems) == 0 {
			return hubs, nil
		}
		now := clock.Now()
		if !now.Before(due) {
			return hubs, d.notReadyError(ctx, p, timeout, problems)
		}
		core.SleepUntil(ctx, clock, now.Add(min(reportPollInterval, due.Sub(now))))
		if ctx.Err() != nil {
			return hubs, ctx.Err()
		}
	}
}

// hubsOf returns the state of a plugin in each running hub, sorted by hub. A hub that reports only other plugins has
// the state "".
func hubsOf(id string, reports []console.PluginHub) []console.PluginHub {
	hubs := map[core.ID]console.PluginHub{}
	for _, h := range reports {
		if h.Plugin == id {
			hubs[h.Hub] = h
		} else if _, known := hubs[h.Hub]; !known {
			hubs[h.Hub] = console.PluginHub{Plugin: id, Hub: h.Hub, At: h.At}
		}
	}
	return slices.SortedFunc(maps.Values(hubs), func(a, b console.PluginHub) int {
		return slices.Compare(a.Hub[:], b.Hub[:])
	})
}

// notReady describes each hub where the installed build of a plugin is not ready.
func notReady(p Desired, hubs []console.PluginHub) (problems []string) {
	for _, h := range hubs {
		problem, state := "", pluginhost.State(h.State)
		switch {
		case h.State == "":
			problem = "it does not have the plugin: install it in the SERVERY_PLUGIN_DIR of that hub too"
		case h.Build == p.build && (state == pluginhost.Ready || state == pluginhost.Degraded):
			continue // a hub calls a degraded plugin, too
		case h.Build != p.build && (state == pluginhost.Ready || state == pluginhost.Degraded):
			problem = "another build is " + h.State + " there"
		default:
			problem = fmt.Sprintf("version %s is %s since %s", h.Version, h.State, h.Since.UTC().Format(time.RFC3339))
		}
		if h.Reason != "" {
			problem += ": " + h.Reason
		}
		problems = append(problems, fmt.Sprintf("hub %s, reported %s: %s", h.Hub, h.At.UTC().Format(time.RFC3339),
			problem))
	}
	if len(hubs) == 0 {
		problems = []string{"no running hub reports it: start one with this database and this SERVERY_PLUGIN_DIR"}
	}
	return problems
}

// Readiness says in how many hubs a build is ready, and why it is degraded in some.
func Readiness(hubs []Hub) string {
	text := fmt.Sprintf("ready in %d running hubs\n", len(hubs))
	for _, h := range hubs {
		if h.State == string(pluginhost.Degraded) {
			text += fmt.Sprintf("hub %s: it is degraded: %s\n", h.Hub, h.Reason)
		}
	}
	return text
}

// RejectedBy reports whether a hub did not take the installed build while AwaitReady waited. That hub failed to start
// it, or still runs another build.
func (p Desired) RejectedBy(hubs []Hub) bool {
	return slices.ContainsFunc(hubs, func(h Hub) bool {
		switch pluginhost.State(h.State) {
		case pluginhost.Backoff, pluginhost.Quarantined:
			return true
		case pluginhost.Ready, pluginhost.Degraded:
			return h.Build != p.build
		default:
			return false
		}
	})
}

// notReadyError returns the error of AwaitReady, with the faults since the installation.
func (d Dir) notReadyError(ctx context.Context, p Desired, timeout time.Duration, problems []string) error {
	causes, err := calls.NewPlugins(d.DB).Causes(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, c := range causes {
		if c.Last.After(p.since) {
			problems = append(problems, fmt.Sprintf("fault at %s: %s", c.Last.UTC().Format(time.RFC3339), c.Text))
		}
	}
	return fmt.Errorf("version %s of plugin %s is installed, but not ready in every hub after %v:\n  %s\n"+
		"see `servery plugin faults %s` and `servery plugin logs %s`", p.Installed, p.ID, timeout,
		strings.Join(problems, "\n  "), p.ID, p.ID)
}
