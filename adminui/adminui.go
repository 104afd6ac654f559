// Package adminui is the console: it joins the pages, each in a folder of its
// own, under one table of addresses and guards.
package adminui

import (
	"context"
	"log/slog"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/audit"
	"github.com/servery-hub/servery/adminui/checklist"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/history"
	"github.com/servery-hub/servery/adminui/items"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/keys"
	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/overview"
	"github.com/servery-hub/servery/adminui/plugins"
	"github.com/servery-hub/servery/adminui/sandbox"
	"github.com/servery-hub/servery/adminui/search"
	"github.com/servery-hub/servery/adminui/settings"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/signin"
	"github.com/servery-hub/servery/adminui/stores"
	"github.com/servery-hub/servery/adminui/users"
	"github.com/servery-hub/servery/adminui/webhooks"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Records is all that the pages read and do; postgres.Console has it.
type Records interface {
	shell.Businesses
	overview.Records
	jobs.Records
	webhooks.Records
	deliveries.Records
	orders.Records
	plugins.Records
	settings.Records
	stores.Records
	items.Records
	history.Records
	keys.Records
	users.Records
	audit.Records
	search.Records
	Pulse(ctx context.Context, business core.BusinessID) (string, error)
}

// Plugins knows the plugins of all hubs.
type Plugins interface {
	plugins.Registry
	settings.Plugins
}

// Config is what a console is made of. Every field is required but Provider and BaseURL.
type Config struct {
	Accounts   access.Accounts
	Provider   signin.Provider // of identities; nil: none
	Records    Records
	Deliveries deliveries.Reader
	Tester     webhooks.Tester
	Rotator    webhooks.Rotator
	Orders     orders.Reader
	Plugins    Plugins
	Published  items.Publications
	Stores     stores.Reader
	Menus      history.Menus
	Checklist  checklist.Records
	Sandbox    sandbox.Playground
	BaseURL    string         // of the hub as people reach it; "" as their requests come
	Proxies    []netip.Prefix // whose X-Forwarded-For is believed
	Clock      core.Clock
	Log        *slog.Logger
}

// Console serves the pages.
type Console struct {
	shell *shell.Shell
	table []route
	doors []door
}

// Streams is how many pages follow what happens.
func (c *Console) Streams() int { return c.shell.Live.Streams() }

// route is one line of the table: who may see or do what.
type route struct {
	method, path string
	least        access.Role
	handle       shell.Handler
}

// door is a page that is open to everybody.
type door struct {
	method, path string
	handle       fiber.Handler
}

// New joins the pages.
func New(config Config) *Console {
	s := &shell.Shell{Accounts: config.Accounts, Records: config.Records, Live: shell.NewLive(config.Records.Pulse, config.Accounts.Visitors, config.Log), Clock: config.Clock, Log: config.Log}
	r := config.Records
	in := signin.Pages{Shell: s, Provider: config.Provider, BaseURL: config.BaseURL, Proxies: config.Proxies}
	first := overview.Pages{Records: r, Plugins: config.Plugins}
	work := jobs.Pages{Records: r, Deliveries: config.Deliveries}
	hooks := webhooks.Pages{Records: r, Counts: r, Deliveries: config.Deliveries, Tester: config.Tester, Rotator: config.Rotator}
	sent := deliveries.Pages{Deliveries: config.Deliveries, Records: r}
	bought := orders.Pages{Records: r, Orders: config.Orders}
	engines := plugins.Pages{Registry: config.Plugins, Records: r}
	setup := settings.Pages{Records: r, Plugins: config.Plugins, BaseURL: config.BaseURL, Clock: config.Clock}
	shops := stores.Pages{Records: r, Stores: config.Stores, Plugins: config.Plugins, Publications: config.Published}
	menu := items.Pages{Records: r, Publications: config.Published, Plugins: config.Plugins}
	past := history.Pages{Records: r, Menus: config.Menus}
	credentials := keys.Pages{Records: r, Clock: config.Clock}
	people := users.Pages{Records: r, Accounts: config.Accounts, BaseURL: config.BaseURL}
	trail := audit.Pages{Records: r}
	play := sandbox.Pages{Playground: config.Sandbox}
	begin := checklist.Pages{Records: config.Checklist, BaseURL: config.BaseURL}
	find := search.Pages{Records: r}
	const b = shell.Root + "b/:business/"
	console := &Console{shell: s,
		doors: []door{
			{"GET", shell.SignInPath, in.SignIn},
			{"POST", shell.SignInPath, in.Enter},
			{"GET", shell.WelcomePath, in.Welcome},
			{"POST", shell.WelcomePath, in.UseLink},
		},
		table: []route{
			{"GET", shell.Root, access.Viewer, first.Overview},
			{"GET", shell.SearchPath, access.Viewer, find.Search},
			{"GET", shell.AccountPath, access.Viewer, in.Account},
			{"POST", shell.AccountPath, access.Viewer, in.ChangePassword},
			{"POST", shell.SignOutPath, access.Viewer, in.SignOut},
			{"POST", shell.ThemePath, access.Viewer, shell.SetTheme},
			{"GET", shell.LivePath + ":business/", access.Viewer, s.Live.Stream},

			{"GET", shell.UsersPath, access.Admin, people.List},
			{"POST", shell.UsersPath, access.Admin, people.Create},
			{"GET", shell.UsersPath + ":id/", access.Admin, people.One},
			{"POST", shell.UsersPath + ":id/", access.Admin, people.Change},
			{"POST", shell.UsersPath + ":id/link/", access.Admin, people.Link},
			{"GET", shell.AuditPath, access.Admin, trail.List},
			{"GET", shell.AuditPath + ":id/", access.Admin, trail.One},

			{"GET", shell.PluginsPath, access.Viewer, engines.List},
			{"GET", shell.PluginsPath + ":id/", access.Viewer, engines.One},
			{"POST", shell.PluginsPath + ":id/enable/", access.Admin, engines.Want(console.EnablePlugin)},
			{"POST", shell.PluginsPath + ":id/disable/", access.Admin, engines.Want(console.DisablePlugin)},
			{"POST", shell.PluginsPath + ":id/restart/", access.Admin, engines.Want(console.RestartPlugin)},
			{"POST", shell.PluginsPath + ":id/upgrade/", access.Admin, engines.Want(console.UpgradePlugin)},

			{"GET", b, access.Viewer, first.Business},
			{"GET", b + "grid/", access.Viewer, first.Grid},
			{"GET", b + "checklist/", access.Viewer, begin.Show},
			{"GET", b + "sandbox/", access.Viewer, play.Show},
			{"POST", b + "sandbox/", access.Support, play.Play},
			{"POST", b + "sandbox/faults/", access.Support, play.SwitchFault},
			{"POST", b + "sandbox/faults/off/", access.Support, play.ClearFaults},
			{"GET", b + "webhooks/", access.Viewer, hooks.List},
			{"GET", b + "webhooks/:id/", access.Viewer, hooks.One},
			{"POST", b + "webhooks/:id/pause/", access.Support, hooks.Pause},
			{"POST", b + "webhooks/:id/resume/", access.Support, hooks.Resume},
			{"POST", b + "webhooks/:id/test/", access.Support, hooks.Test},
			{"POST", b + "webhooks/:id/rotate/", access.Support, hooks.Rotate},
			{"GET", b + "deliveries/", access.Viewer, sent.List},
			{"POST", b + "deliveries/retry/", access.Support, sent.RetryChosen},
			{"GET", b + "deliveries/again/", access.Support, sent.Again},
			{"POST", b + "deliveries/again/", access.Support, sent.SendAgain},
			{"GET", b + "deliveries/:id/", access.Viewer, sent.One},
			{"GET", b + "deliveries/:id/diff/", access.Viewer, sent.Diff},
			{"GET", b + "deliveries/:id/payload.json", access.Viewer, sent.Payload},
			{"POST", b + "deliveries/:id/retry/", access.Support, sent.Retry},
			{"GET", b + "jobs/", access.Viewer, work.List},
			{"GET", b + "jobs/:reference/", access.Viewer, work.One},
			{"GET", b + "jobs/:reference/diff/", access.Viewer, work.Diff},
			{"POST", b + "jobs/:reference/again/", access.Support, work.Again},
			{"GET", b + "jobs/:reference/request.json", access.Viewer, work.Request},
			{"GET", b + "jobs/:reference/callback.json", access.Viewer, work.Callback},
			{"GET", b + "stores/", access.Viewer, shops.List},
			{"GET", b + "stores/:id/", access.Viewer, shops.One},
			{"POST", b + "stores/:id/publish/", access.Support, shops.Publish},
			{"GET", b + "items/", access.Viewer, menu.List},
			{"GET", b + "items/:id/", access.Viewer, menu.One},
			{"GET", b + "keys/", access.Viewer, credentials.List},
			{"POST", b + "keys/", access.Support, credentials.Create},
			{"POST", b + "keys/revoke/", access.Support, credentials.Revoke},
			{"GET", b + "audit/", access.Viewer, trail.List},
			{"GET", b + "audit/:id/", access.Viewer, trail.One},
		},
	}
	console.table = slices.Concat(console.table, orderRoutes(b, bought), historyRoutes(b, past), settingsRoutes(b, setup))
	if config.Provider != nil {
		console.doors = append(console.doors, door{"GET", shell.ProviderPath, in.ToProvider}, door{"GET", shell.ProviderBackPath, in.FromProvider})
	}
	return console
}

func orderRoutes(b string, bought orders.Pages) []route {
	return []route{
		{"GET", b + "orders/", access.Viewer, bought.List},
		{"GET", b + orders.RefusedPath, access.Viewer, bought.Refused},
		{"POST", b + "orders/tell/", access.Support, bought.TellAll},
		{"GET", b + "orders/:id/", access.Viewer, bought.One},
		{"GET", b + "orders/:id/payload.json", access.Viewer, bought.Payload},
		{"POST", b + "orders/:id/tell/", access.Support, bought.Tell},
	}
}

func historyRoutes(b string, past history.Pages) []route {
	return []route{
		{"GET", b + "history/", access.Viewer, past.List},
		{"GET", b + "history/item/", access.Viewer, past.Then},
		{"GET", b + "history/:id/", access.Viewer, past.One},
		{"GET", b + "history/:id/diff/", access.Viewer, past.Diff},
		{"GET", b + "history/:id/rollback/", access.Support, past.Rollback},
		{"POST", b + "history/:id/rollback/", access.Support, past.RollBack},
	}
}

func settingsRoutes(b string, setup settings.Pages) []route {
	return []route{
		{"GET", b + "settings/", access.Viewer, setup.List},
		{"POST", b + "settings/platforms/", access.Support, setup.Add},
		{"POST", b + "settings/watching/", access.Support, setup.Watch},
		{"GET", b + "settings/platform/", access.Viewer, setup.One},
		{"POST", b + "settings/platform/", access.Support, setup.Save},
		{"POST", b + "settings/callback/", access.Support, setup.Callback},
		{"POST", b + "settings/callback/drop/", access.Support, setup.DropCallbacks},
	}
}

// Mount serves the console below /console/.
func (c *Console) Mount(router fiber.Router) {
	for _, d := range c.doors {
		router.Add(d.method, d.path, d.handle)
	}
	pages := map[string]bool{}
	for _, r := range c.table {
		if r.method == fiber.MethodGet {
			pages[r.path] = true
		}
	}
	for _, r := range c.table {
		if r.method == fiber.MethodGet {
			router.Get(r.path, c.shell.Page(r.least, r.handle))
			continue
		}
		router.Add(r.method, r.path, c.shell.Write(r.least, r.handle))
		if !pages[r.path] {
			router.Get(r.path, c.shell.Page(access.Viewer, toPage(r.path, pages)))
		}
	}
	router.Get(shell.Root+"*", c.shell.Page(access.Viewer, func(*fiber.Ctx, *shell.Visit) error {
		return core.Errorf(core.NotFound, "there is no such page")
	}))
}

// toPage goes from the address of a form, where somebody comes back to after signing in
// or by a reload, to the page that it is on: the nearest above.
func toPage(form string, pages map[string]bool) shell.Handler {
	levels := 0
	for ; !pages[form]; levels++ {
		form = path.Dir(strings.TrimSuffix(form, "/")) + "/"
	}
	return func(c *fiber.Ctx, _ *shell.Visit) error {
		page := c.Path()
		for range levels {
			page = path.Dir(strings.TrimSuffix(page, "/")) + "/"
		}
		return c.Redirect(page, fiber.StatusSeeOther)
	}
}

// Run looks for changes, for live updates, until the context ends.
func (c *Console) Run(ctx context.Context) { c.shell.Live.Run(ctx) }

// Stop ends the streams of live updates, which would else keep a server from stopping.
func (c *Console) Stop() { c.shell.Live.Stop() }
