// Package adminui is the console. Each page is a folder whose descriptor (shell.Page) names
// its routes and guards, and this package lists the descriptors.
package adminui

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/audit"
	"github.com/servery-hub/servery/adminui/calls"
	"github.com/servery-hub/servery/adminui/checklist"
	"github.com/servery-hub/servery/adminui/customers"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/history"
	"github.com/servery-hub/servery/adminui/items"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/keys"
	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/overview"
	"github.com/servery-hub/servery/adminui/plugins"
	"github.com/servery-hub/servery/adminui/problems"
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
	"github.com/servery-hub/servery/core/limit"
)

// Database is what the pages read and write.
type Database interface {
	shell.Businesses
	shell.SavedViews
	overview.Activity
	overview.StoreGrid
	jobs.Reader
	jobs.Rerunner
	webhooks.Reader
	webhooks.Updater
	webhooks.Recorder
	deliveries.Bodies
	deliveries.Searcher
	deliveries.Resender
	problems.Reader
	problems.Editor
	orders.Lister
	orders.Timeline
	calls.Reader
	orders.Notifier
	plugins.Controller
	settings.Platforms
	settings.CallbackKeys
	settings.Monitoring
	settings.Listing
	settings.Aliases
	stores.Lister
	stores.Timeline
	stores.Publisher
	items.Reader
	keys.Lister
	keys.Issuer
	users.Reader
	audit.Reader
	search.Searcher
	customers.Finder
	customers.Eraser
	customers.Exporter
	settings.PersonalData
	ChangeToken(ctx context.Context, business core.BusinessID) (string, error)
}

// Plugins reads the plugins of all hubs and checks settings of platforms.
type Plugins interface {
	plugins.Registry
	settings.Plugins
}

// Config holds the dependencies of a console. Provider, BaseURL, Memory and MaxReads are optional.
type Config struct {
	Accounts   access.Accounts
	Provider   signin.Provider // identity provider; nil: passwords only
	Database   Database
	Deliveries deliveries.Reader
	Tester     webhooks.Tester
	Rotator    webhooks.Rotator
	Orders     orders.Reader
	Actions    orders.Actions
	Workloads  stores.Workloads
	Plugins    Plugins
	Logins     settings.Logins
	Published  stores.Publications
	Renderer   stores.Renderer
	Stores     stores.Reader
	Menus      history.Menus
	Checklist  checklist.Reader
	Sandbox    sandbox.Runner
	BaseURL    string         // public URL of the hub; "": taken from each request
	Proxies    []netip.Prefix // proxies whose X-Forwarded-For is trusted
	Memory     *limit.Memory  // memory for forms; nil: no limit
	MaxReads   int            // pages that read the database at once; 0: no limit
	Clock      core.Clock
	Log        *slog.Logger
}

// Console serves the pages.
type Console struct{ shell *shell.Shell }

// New returns a console with all pages.
func New(config Config) *Console {
	s := &shell.Shell{Accounts: config.Accounts, Businesses: config.Database, Views: config.Database,
		Memory: config.Memory, Proxies: config.Proxies, Clock: config.Clock, Log: config.Log,
		Live: shell.NewLive(config.Database.ChangeToken, config.Accounts.UsersBySession, config.Log)}
	if config.MaxReads > 0 {
		s.Slots = shell.NewSlots(config.MaxReads)
	}
	s.Pages = s.WithViewRoutes(pages(config, s))
	return &Console{shell: s}
}

// pages lists the pages in the order of the navigation.
func pages(config Config, s *shell.Shell) []shell.Page {
	db, deliveriesReader := config.Database, config.Deliveries
	home := overview.Pages{Activity: db, Stores: db, Listing: db, Plugins: config.Plugins}
	trail := audit.Pages{Trail: db}
	failures := problems.Pages{Problems: db, Editor: db, Deliveries: deliveriesReader, Resender: db, Trail: db}
	return []shell.Page{
		s.Page(),
		signin.Pages{Shell: s, Provider: config.Provider, BaseURL: config.BaseURL}.Page(),
		search.Pages{Searcher: db, Customers: db}.Page(),
		home.Page(),
		failures.HubPage(),
		plugins.Pages{Registry: config.Plugins, Controller: db, BaseURL: config.BaseURL}.Page(),
		users.Pages{Users: db, Accounts: config.Accounts, BaseURL: config.BaseURL}.Page(),
		trail.HubPage(),
		home.BusinessPage(),
		failures.Page(),
		webhooks.Pages{Webhooks: db, Updater: db, Recorder: db, Counts: db, Deliveries: deliveriesReader,
			Tester: config.Tester, Rotator: config.Rotator}.Page(),
		deliveries.Pages{Deliveries: deliveriesReader, Searcher: db, Bodies: db, Resender: db, Trail: db}.Page(),
		orders.Pages{Deliveries: deliveriesReader, Bodies: db, Orders: config.Orders, Lister: db, Timeline: db,
			Notifier: db, Actions: config.Actions, Changes: config.Menus}.Page(),
		calls.Pages{Calls: db}.Page(),
		customers.Pages{Finder: db, Eraser: db, Exporter: db}.Page(),
		jobs.Pages{Jobs: db, Rerunner: db, Deliveries: deliveriesReader}.Page(),
		stores.Pages{Stores: config.Stores, Lister: db, Timeline: db, Publisher: db, Plugins: config.Plugins,
			Workloads:    config.Workloads,
			Publications: config.Published, Renderer: config.Renderer}.Page(),
		items.Pages{Items: db, Plugins: config.Plugins}.Page(),
		history.Pages{Menus: config.Menus, Platforms: db, Queue: db}.Page(),
		keys.Pages{Lister: db, Issuer: db, Clock: config.Clock}.Page(),
		settings.Pages{Platforms: db, Keys: db, Monitoring: db, Listing: db, Aliases: db, PersonalData: db,
			Plugins: config.Plugins, Logins: config.Logins, BaseURL: config.BaseURL, Clock: config.Clock}.Page(),
		checklist.Pages{Facts: config.Checklist, BaseURL: config.BaseURL}.Page(),
		sandbox.Pages{Runner: config.Sandbox}.Page(),
		trail.Page(),
	}
}

// Pages returns the descriptors of all pages.
func (c *Console) Pages() []shell.Page { return c.shell.Pages }

// Streams returns the number of open live-update streams.
func (c *Console) Streams() int { return c.shell.Live.Streams() }

// Mount serves the console below /console/.
func (c *Console) Mount(router fiber.Router) { c.shell.Mount(router) }

// Run polls for changes and sends live updates until ctx is done.
func (c *Console) Run(ctx context.Context) { c.shell.Live.Run(ctx) }

// Stop ends the live-update streams, so that the server can shut down.
func (c *Console) Stop() { c.shell.Live.Stop() }
