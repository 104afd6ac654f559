package hub

import (
	"time"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/customers"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// newConsole builds the console's pages.
func (h *Hub) newConsole() *adminui.Console {
	config := adminui.Config{
		Accounts: accessdb.NewAccounts(h.db), Database: newConsoleRecords(h.db), Deliveries: deliveries.New(h.db),
		Tester: h.tester(), Rotator: h.Subscriptions(),
		Orders: orders.New(h.db), Actions: h.actionDesk(), Workloads: availability.New(h.db),
		Plugins: pluginRegistry{h.db, h.config.Host}, Published: publications.New(h.db),
		Stores: stores.New(h.db), Menus: menus.New(h.db),
		Checklist: consoleview.NewChecklist(h.db, h.config.Plugins), Sandbox: h.sandbox, Memory: h.config.Memory,
		Logins:   logins{h.config.Host, platforms.New(h.db), outbound{h.keySetSender}},
		MaxReads: max(1, h.db.Bun().DB.Stats().MaxOpenConnections/2), // the API shares these connections
		Clock:    h.db.Clock(), Log: h.log,
	}
	if h.config.Host != nil {
		config.Renderer = aggregator.Renderer{Host: h.config.Host, Source: menus.NewMenuSource(h.db), Log: h.log}
	}
	h.config.Identity.configure(&config)
	return adminui.New(config)
}

// observer records delivery attempts for metrics and for the console's statistics.
type observer struct {
	*metrics
	tally   *console.AttemptCounter
	monitor *monitor
}

// Attempted counts a delivery attempt (webhook.Observer).
func (c observer) Attempted(r webhook.Result, late time.Duration) {
	c.metrics.Attempted(r, late)
	c.monitor.recordDelivery(r)
	c.tally.Count(console.Attempt{
		Business: r.Delivery.Business, Webhook: r.Delivery.WebhookID, Delivery: r.Delivery.ID, At: r.Attempt.StartedAt,
		Took: r.Attempt.Timing.Total, Class: string(r.Attempt.ErrorClass), Status: r.Attempt.Status,
		Error: r.Attempt.Error,
	})
}

// The stores that the console's pages use.
type (
	consoleStore  = consoleview.Store
	listStore     = consolelists.Store
	menuStore     = consolemenus.Store
	accessStore   = accessdb.Store
	jobStore      = jobs.Store
	platformStore = platforms.Store
	deliveryStore = deliveries.Store
	webhookStore  = webhooksdb.Store
	storeStore    = stores.Store
	aliasStore    = aliases.Store
	customerStore = customers.Store
)

// consoleRecords combines them (adminui.Database).
type consoleRecords struct {
	consoleStore
	listStore
	menuStore
	accessStore
	jobStore
	platformStore
	deliveryStore
	webhookStore
	storeStore
	aliasStore
	customerStore
}

func newConsoleRecords(db *postgres.DB) consoleRecords {
	return consoleRecords{consoleview.New(db), consolelists.New(db), consolemenus.New(db), accessdb.New(db),
		jobs.New(db), platforms.New(db), deliveries.New(db), webhooksdb.New(db), stores.New(db), aliases.New(db),
		customers.New(db)}
}
