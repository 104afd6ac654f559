// Package plugins shows the hub's plugins: their state, the platforms that they serve, their faults and log. Admins
// enable, disable, restart and upgrade them.
package plugins

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Registry lists plugins with the platforms of businesses that they serve. nil businesses means all. Only then are the
// log and the texts of problems included.
type Registry interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
	// PluginFaults returns the faults of a plugin and its requests that are set aside, of the businesses.
	PluginFaults(ctx context.Context, id string, businesses []core.BusinessID) (console.PluginFaults, error)
	// SharedInbound returns the state of the shared URL of a plugin.
	SharedInbound(ctx context.Context, id string) (console.SharedInbound, error)
	// RetrySetAside lets the hubs call a plugin again with the requests.
	RetrySetAside(ctx context.Context, id string, requests []int64, change access.Change) error
}

// Controller requests actions on plugins.
type Controller interface {
	RequestPluginAction(ctx context.Context, id string, action console.PluginAction, change access.Change) error
}

// Pages are the pages of plugins.
type Pages struct {
	Registry   Registry
	Controller Controller
	BaseURL    string // public URL of the hub; "": taken from the request
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	const path = shell.PluginsPath
	return shell.Page{Path: path, Label: text.Plugins,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Post(path+":id/enable/", access.Admin, p.RequestAction(console.EnablePlugin)),
			shell.Post(path+":id/disable/", access.Admin, p.RequestAction(console.DisablePlugin)),
			shell.Post(path+":id/restart/", access.Admin, p.RequestAction(console.RestartPlugin)),
			shell.Post(path+":id/upgrade/", access.Admin, p.RequestAction(console.UpgradePlugin)),
			shell.Post(path+":id/retry/", access.Admin, p.Retry),
		},
		Done: map[string]string{"wanted": text.PluginWanted, "asideRetried": text.RetriedSetAside}}
}

// List shows all plugins.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Registry.ListPlugins(c.UserContext(), v.Visible())
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Plugins, EmptyTitle: text.NoPluginsTitle, EmptyText: text.NoPluginsText,
		Columns: []ui.Column{
			{Label: text.Plugin, Kind: ui.Wide}, {Label: text.State}, {Label: text.Version}, {Label: text.Since},
			{Label: text.Restarts, Kind: ui.Figure},
			{Label: text.InFlight, Kind: ui.Figure}, {Label: text.Latency, Kind: ui.Figure},
			{Label: text.Platforms, Kind: ui.Figure}, {Label: text.Findings, Kind: ui.Figure}}}
	for _, plugin := range found {
		href := shell.PluginsPath + plugin.ID + "/"
		problem := cause.Plugin(plugin, v.Zone)
		all := totalCalls(plugin.Hubs)
		list.AddAt(plugin.ID, ui.Cell{Text: plugin.ID, Href: href, Note: plugin.About.Name},
			ui.StateCell(problem.State, stateLabel(plugin)), ui.T(plugin.Version), ui.TimeCell(v.At(plugin.Since)),
			ui.T(fmt.Sprint(max(0, plugin.Starts-1))), ui.T(fmt.Sprint(inFlight(plugin.Hubs))), ui.T(average(all)),
			ui.T(fmt.Sprint(len(plugin.Serves))), ui.T(ui.Number(plugin.Findings)))
	}
	head := shell.Head{Title: text.Plugins, Causes: Causes(found, v.Zone), Live: true}
	return v.ShowList(c, head, list, "after")
}

// Causes returns the plugins with a problem, each with a link to its page. A disabled plugin is included only if it
// serves a platform.
func Causes(found []console.Plugin, zone *time.Location) (causes []ui.Cause) {
	for _, plugin := range found {
		problem := cause.Plugin(plugin, zone)
		if problem.State == ui.Err || problem.State == ui.Warn || problem.State == ui.Held && len(plugin.Serves) > 0 {
			problem.Link = ui.Link{Href: shell.PluginsPath + plugin.ID + "/", Label: text.ActSeePlugin}
			causes = append(causes, problem)
		}
	}
	return causes
}

func stateLabel(p console.Plugin) string {
	switch state := cause.PluginState(p); {
	case !p.Enabled:
		return text.PluginOff
	case state == "":
		return text.Unused
	default:
		return cause.Capital(string(state))
	}
}

func totalCalls(hubs []console.PluginHub) (all console.PluginCall) {
	for _, hub := range hubs {
		for _, call := range hub.Calls {
			all.Add(call)
		}
	}
	return all
}

func inFlight(hubs []console.PluginHub) (n int) {
	for _, hub := range hubs {
		n += hub.InFlight
	}
	return n
}

func average(c console.PluginCall) string {
	if c.Count == 0 {
		return ""
	}
	return ui.Took(c.TotalTime / time.Duration(c.Count))
}

// pollSeconds is the period in which the page of a plugin follows the hubs, which report each few seconds.
const pollSeconds = 5

// One shows a plugin.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Registry.ListPlugins(c.UserContext(), v.Visible())
	if err != nil {
		return err
	}
	for _, plugin := range found {
		if plugin.ID != c.Params("id") {
			continue
		}
		head := shell.Head{Title: plugin.ID, Note: plugin.About.Name,
			Parent: ui.Link{Href: shell.PluginsPath, Label: text.Plugins},
			Causes: []ui.Cause{cause.Plugin(plugin, v.Zone)}, Live: true, RefreshSeconds: pollSeconds}
		if v.User.Role == access.Admin {
			head.Buttons = buttons(plugin)
		}
		faults, err := p.Registry.PluginFaults(c.UserContext(), plugin.ID, v.Visible())
		if err != nil {
			return err
		}
		shared, err := p.Registry.SharedInbound(c.UserContext(), plugin.ID)
		if err != nil {
			return err
		}
		view := newPluginView(v, plugin, faults)
		view.facts = append(view.facts, sharedFacts(v, plugin, shared, cmp.Or(p.BaseURL, c.BaseURL()))...)
		return v.Show(c, head, pluginPage(view))
	}
	return core.Errorf(core.NotFound, text.NotFound)
}

func buttons(p console.Plugin) []ui.Button {
	button := func(action console.PluginAction, label, help string) ui.Button {
		return ui.Button{Label: label, Action: shell.PluginsPath + p.ID + "/" + string(action) + "/",
			ReasonLabel: text.Why,
			Help:        help}
	}
	if !p.Enabled {
		return []ui.Button{button(console.EnablePlugin, text.Enable, text.EnableSay)}
	}
	list := []ui.Button{button(console.RestartPlugin, text.Restart, text.RestartSay)}
	if p.Installed != "" && p.Installed != p.Version {
		list = append(list, button(console.UpgradePlugin, text.Upgrade,
			fmt.Sprintf(text.UpgradeSay, p.Version, p.Installed)))
	}
	disable := button(console.DisablePlugin, text.Disable, fmt.Sprintf(text.DisableSay,
		ui.Count(len(p.Serves), text.OnePlatform, text.Platforms_)))
	disable.Danger = true
	return append(list, disable)
}

// Retry lets the hubs call a plugin again with the chosen requests.
func (p Pages) Retry(c *fiber.Ctx, v *shell.PageContext) error {
	id := strings.Clone(c.Params("id"))
	var requests []int64
	for _, key := range shell.Fields(c, "id") {
		n, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return core.Errorf(core.Invalid, text.NotFound)
		}
		requests = append(requests, n)
	}
	if len(requests) == 0 {
		return core.Errorf(core.Invalid, text.ChooseSome)
	}
	if err := p.Registry.RetrySetAside(c.UserContext(), id, requests, v.Change(c, "plugin.retry")); err != nil {
		return err
	}
	return shell.RedirectDone(c, shell.PluginsPath+id+"/", "asideRetried")
}

// RequestAction returns a handler that records an action requested by an admin.
func (p Pages) RequestAction(action console.PluginAction) shell.Handler {
	return func(c *fiber.Ctx, v *shell.PageContext) error {
		id := strings.Clone(c.Params("id"))
		change := v.Change(c, "plugin."+string(action))
		if err := p.Controller.RequestPluginAction(c.UserContext(), id, action, change); err != nil {
			return err
		}
		return shell.RedirectDone(c, shell.PluginsPath+id+"/", "wanted")
	}
}
