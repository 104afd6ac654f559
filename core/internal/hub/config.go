package hub

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/web"
)

// The roles of a process.
const (
	RoleAPI     = "api"
	RoleWorker  = "worker"
	RoleConsole = "console"
)

// Config is the configuration of a hub.
type Config struct {
	Version       string // of the program
	Roles         []string
	Limits        map[web.Limit]limit.Rule
	MaxBody       int
	CORSOrigins   []string      // of web pages that may call the API; *: all
	Memory        *limit.Memory // for bodies; nil: no bound
	Connections   Connections
	Allow         []netip.Prefix
	IngestPolicy  menu.IngestPolicy
	Retention     time.Duration
	DeliveryLease time.Duration
	JobLease      time.Duration
	ActionWithin  time.Duration // how long the outcome of an action may be pending; 0: forever
	AckWithin     time.Duration // how long an order may wait for its acknowledgement; 0: forever
	SilentAfter   time.Duration // how long a POS may be silent; 0: forever
	Identity      Identity
	SecretOverlap time.Duration // how long the previous signing secret of a webhook also signs
	Renderings    int           // maximum of concurrent renderings of menus
	Debounce      publish.Debounce
	Tracer        *core.Tracer // nil: none
	Host          *aggregator.Host
	PluginMetrics *PluginMetrics // of the host
	Plugins       Plugins        // usually the host
	Platforms     relay.Platforms
	Sandbox       sandbox.Options // of the console's sandbox: URL, directory and token
}

// Defaults returns the configuration of a hub without settings. The flags of `servery serve` have the same defaults.
func Defaults() Config {
	limits, mistakes := Throttles(map[web.Limit]string{
		web.LimitStores: "20/1m", web.LimitMenu: "1/5s", web.LimitWebhooks: "5/1m", web.LimitRead: "60/1m",
		web.LimitRetry: "2/1h", web.LimitOperations: "60/1m", web.LimitOrders: "off",
		web.LimitOrderUpdates: "30000/1m", web.LimitSwitches: "1200/1m", web.LimitCallbacks: "30000/1m",
		web.LimitRider: "100/1m", web.LimitLocation: "6000/1m", web.LimitActions: "100/1m",
	})
	if len(mistakes) > 0 {
		panic(mistakes[0]) // a constant above is wrong
	}
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	return Config{
		Roles: []string{RoleAPI, RoleWorker, RoleConsole}, Limits: limits, MaxBody: 64 << 20,
		Connections: Connections{HeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
			Limits: inbound.Config{PerAddress: 256, Trusted: local, Stall: 10 * time.Second,
				MinRate: 4096}},
		Retention: 720 * time.Hour, DeliveryLease: 20 * time.Second, JobLease: 15 * time.Second,
		ActionWithin: time.Hour, AckWithin: 5 * time.Minute, SilentAfter: 30 * time.Minute,
		Identity: Identity{Proxies: local}, SecretOverlap: 24 * time.Hour, Renderings: 1,
		Debounce: publish.Debounce{Quiet: 2 * time.Second, Max: 15 * time.Second},
	}
}

// Throttles parses rate limits such as 20/1m. It returns an error for each invalid one, which names its environment
// variable.
func Throttles(texts map[web.Limit]string) (rules map[web.Limit]limit.Rule, mistakes []error) {
	rules = map[web.Limit]limit.Rule{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		rule, err := limit.ParseRule(texts[name])
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_LIMIT_%s: %w", name, err))
		}
		if name == web.LimitRetry || name == web.LimitCallbacks {
			rule.Block = 0 // a throttled client waits only for the sliding window: a block would stop orders
		}
		rules[name] = rule
	}
	return rules, mistakes
}

// maxLease bounds how long the work of a dead hub waits for another hub.
const maxLease = 10 * time.Minute

// Validate returns the mistakes in the configuration. They name the environment variables of `servery serve`.
func (c Config) Validate() (mistakes []error) {
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{len(c.Roles) == 0, "SERVERY_ROLES: must have at least one of api, worker, console"},
		{c.IngestPolicy.FlushGuard < 0 ||
			c.IngestPolicy.FlushGuard > 100, "SERVERY_FLUSH_GUARD: must be from 0 to 100 percent"},
		{c.MaxBody < 1<<10 || c.MaxBody > 1<<30, "SERVERY_MAX_BODY: must be from 1024 to 1073741824 bytes"},
		{c.Retention < 48*time.Hour, "SERVERY_RETENTION: must be at least 48h"},
		{c.ActionWithin != 0 && c.ActionWithin < time.Minute, "SERVERY_ACTION_WITHIN: must be 0 or at least 1m"},
		{c.AckWithin != 0 && c.AckWithin < 30*time.Second, "SERVERY_ORDER_ACK_WITHIN: must be 0 or at least 30s"},
		{c.SilentAfter != 0 && c.SilentAfter < 2*time.Minute, "SERVERY_POS_SILENT_AFTER: must be 0 or at least 2m"},
		{c.Debounce.Quiet <= 0 || c.Debounce.Max < c.Debounce.Quiet,
			"SERVERY_PUBLISH_QUIET: must be above 0 and at most SERVERY_PUBLISH_WITHIN"},
		{c.Renderings < 1 || c.Renderings > 64, "SERVERY_PUBLISH_RENDERINGS: must be from 1 to 64"},
		{c.DeliveryLease < 10*time.Second || c.DeliveryLease > maxLease,
			"SERVERY_DELIVERY_LEASE: must be at least 10s, longer than an exchange, and at most 10m"},
		{c.JobLease < time.Second || c.JobLease > maxLease, "SERVERY_JOB_LEASE: must be from 1s to 10m"},
		{CheckOverlap(c.SecretOverlap) != nil, "SERVERY_SECRET_OVERLAP: must be from 0 to 720h"},
	} {
		if rule.broken {
			mistakes = append(mistakes, errors.New(rule.message))
		}
	}
	if err := web.CheckOrigins(c.CORSOrigins); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_CORS_ORIGINS: %w", err))
	}
	mistakes = append(mistakes, c.Identity.validate()...)
	return append(mistakes, c.Connections.validate(inbound.OpenFiles())...)
}

// CheckOverlap checks how long a replaced signing secret also signs.
func CheckOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > 30*24*time.Hour {
		return errors.New("SERVERY_SECRET_OVERLAP: must be from 0 to 720h")
	}
	return nil
}
