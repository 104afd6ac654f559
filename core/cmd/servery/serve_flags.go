package main

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/servery-hub/servery/core/access/oidc"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/web"
)

// serveCommand runs the hub. The configuration guide describes each flag.
type serveCommand struct {
	databaseFlags
	pluginFlags
	simulatorFlags
	identityFlags   `group:"Console and sign-in:"`
	connectionFlags `group:"Connections:"`
	deliveryFlags   `group:"Deliveries and menus:"`
	limitFlags      `group:"Rate limits for each business, such as 20/1m, or off:"`

	Listen         string        `env:"*" default:"127.0.0.1:8080" help:"Address to serve on."`
	Roles          []string      `env:"*" default:"api,worker,console" enum:"api,worker,console" help:"Roles."`
	CORSOrigins    []string      `env:"*" help:"Origins of web pages that may call the API, or *."`
	MaxBody        int           `env:"*" default:"67108864" help:"Largest request body in bytes."`
	BodyMemory     int64         `env:"*" default:"0" help:"Memory for bodies in bytes, or 0 for half of all."`
	Retention      time.Duration `env:"*" default:"720h" help:"How long events, deliveries and attempts are kept."`
	FlushGuard     int           `env:"*" default:"0" help:"Hold a flush that removes more than this percentage."`
	ActionWithin   time.Duration `env:"*" default:"1h" help:"When a pending action fails, or 0 for never."`
	OrderAckWithin time.Duration `env:"*" default:"5m" help:"When an unacknowledged order is escalated, or 0."`
	POSSilentAfter time.Duration `env:"*" default:"30m" help:"When the POS of an open store is silent, or 0."`
	LogLevel       slog.Level    `env:"*" default:"info" help:"Level: debug, info, warn or error."`
	LogFile        string        `env:"*" help:"Log file, instead of standard error."`
	SimulatorToken string        `env:"*" help:"Token of the simulator."`
	Demo           bool          `env:"*" help:"Create a demo business with a webhook receiver."`
}

// identityFlags are the URL of the console and the identity provider of its users.
type identityFlags struct {
	BaseURL          environ.BaseURL   `env:"*" help:"Public URL of the hub, by default that of each request."`
	OIDCIssuer       environ.URL       `env:"*" help:"OpenID Connect provider for sign-in."`
	OIDCClientID     string            `env:"*" help:"Client id at the provider."`
	OIDCClientSecret string            `env:"*" help:"Client secret at the provider."`
	OIDCDomains      []string          `env:"*" help:"E-mail domains whose users are created at sign-in."`
	TrustedProxies   []environ.Network `env:"*" default:"127.0.0.0/8,::1/128" help:"Proxies, as CIDR ranges."`
}

// connectionFlags bound the connections of clients.
type connectionFlags struct {
	MaxConnections           int           `env:"*" default:"0" help:"Client connections, or 0 for automatic."`
	MaxConnectionsPerAddress int           `env:"*" default:"256" help:"Client connections of an IP address."`
	HeaderTimeout            time.Duration `env:"*" default:"10s" help:"Time for the header of a request."`
	StallTimeout             time.Duration `env:"*" default:"10s" help:"Time without progress of a body."`
	MinRate                  int           `env:"*" default:"4096" help:"Minimum bytes a second of a body."`
	IdleTimeout              time.Duration `env:"*" default:"90s" help:"Time between two requests."`
}

// deliveryFlags configure deliveries, jobs and publications of menus.
type deliveryFlags struct {
	overlapFlag
	WebhookAllow      []environ.Network `env:"*" help:"Private CIDR ranges that deliveries may reach."`
	DeliveryLease     time.Duration     `env:"*" default:"20s" help:"When another replica takes over deliveries."`
	JobLease          time.Duration     `env:"*" default:"15s" help:"When another replica takes over jobs."`
	PublishQuiet      time.Duration     `env:"*" default:"2s" help:"Pause after the last change of a menu."`
	PublishWithin     time.Duration     `env:"*" default:"15s" help:"Longest time until a menu is published."`
	PublishRenderings int               `env:"*" default:"1" help:"Menus that are rendered at once."`
}

// limitFlags are the rate limits of API calls.
type limitFlags struct {
	LimitStores       string `env:"*" default:"20/1m" help:"Store requests."`
	LimitMenu         string `env:"*" default:"1/5s" help:"Menu requests."`
	LimitWebhooks     string `env:"*" default:"5/1m" help:"Webhook subscriptions."`
	LimitRetry        string `env:"*" default:"2/1h" help:"Order retries."`
	LimitRead         string `env:"*" default:"60/1m" help:"Read-back requests."`
	LimitOperations   string `env:"*" default:"60/1m" help:"Operations such as retrying a delivery."`
	LimitOrders       string `env:"*" default:"off" help:"Orders of channels."`
	LimitOrderUpdates string `env:"*" default:"30000/1m" help:"Order updates of the POS."`
	LimitSwitches     string `env:"*" default:"1200/1m" help:"Availability changes."`
	LimitCallbacks    string `env:"*" default:"30000/1m" help:"Callbacks of aggregators, for each platform."`
	LimitRider        string `env:"*" default:"100/1m" help:"Rider statuses."`
	LimitLocation     string `env:"*" default:"6000/1m" help:"Rider locations."`
	LimitActions      string `env:"*" default:"100/1m" help:"Feature actions."`
}

// throttles returns the rate limits by name.
func (f limitFlags) throttles() map[web.Limit]string {
	return map[web.Limit]string{web.LimitStores: f.LimitStores, web.LimitMenu: f.LimitMenu,
		web.LimitWebhooks: f.LimitWebhooks, web.LimitRetry: f.LimitRetry, web.LimitRead: f.LimitRead,
		web.LimitOperations: f.LimitOperations, web.LimitOrders: f.LimitOrders,
		web.LimitOrderUpdates: f.LimitOrderUpdates, web.LimitSwitches: f.LimitSwitches,
		web.LimitCallbacks: f.LimitCallbacks, web.LimitRider: f.LimitRider, web.LimitLocation: f.LimitLocation,
		web.LimitActions: f.LimitActions}
}

// options converts the flags. It also returns the mistakes in the rate limits.
func (c serveCommand) options() (o hub.Options, mistakes []error) {
	proxies := environ.Prefixes(c.TrustedProxies)
	o = hub.Options{Listen: c.Listen, Database: c.databaseFlags.config(), PluginDir: c.dir(), BodyMemory: c.BodyMemory,
		Simulator: string(c.Simulator), Token: c.SimulatorToken, Demo: c.Demo, Config: hub.Config{
			Version: version(), Roles: c.Roles, MaxBody: c.MaxBody, CORSOrigins: c.CORSOrigins, Retention: c.Retention,
			IngestPolicy: menu.IngestPolicy{FlushGuard: c.FlushGuard}, DeliveryLease: c.DeliveryLease,
			JobLease:     c.JobLease,
			ActionWithin: c.ActionWithin, AckWithin: c.OrderAckWithin, SilentAfter: c.POSSilentAfter,
			SecretOverlap: c.SecretOverlap, Renderings: c.PublishRenderings,
			Debounce: publish.Debounce{Quiet: c.PublishQuiet, Max: c.PublishWithin},
			Allow:    environ.Prefixes(c.WebhookAllow),
			Identity: hub.Identity{BaseURL: string(c.BaseURL), Proxies: proxies, Domains: c.OIDCDomains,
				Provider: oidc.Config{Issuer: string(c.OIDCIssuer), ClientID: c.OIDCClientID,
					ClientSecret: c.OIDCClientSecret}},
			Connections: hub.Connections{HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout,
				Limits: inbound.Config{Max: c.MaxConnections, PerAddress: c.MaxConnectionsPerAddress, Trusted: proxies,
					Stall: c.StallTimeout, MinRate: c.MinRate}},
		}}
	o.Limits, mistakes = hub.Throttles(c.throttles())
	if c.Demo {
		o.Allow = append(o.Allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return o, mistakes
}
