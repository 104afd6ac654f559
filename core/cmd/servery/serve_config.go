package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/web"
)

// config converts the flags and returns all mistakes in them.
func (c serveCommand) config() (hub.Config, error) {
	var mistakes []error
	config := hub.Config{
		Version: version(), Roles: c.Roles, MaxBody: c.MaxBody, CORSOrigins: c.CORSOrigins, Retention: c.Retention,
		Rulebook: menu.Rulebook{FlushGuard: c.FlushGuard}, DeliveryLease: c.DeliveryLease, JobLease: c.JobLease,
		ActionWithin: c.ActionWithin, AckWithin: c.AckWithin, SilentAfter: c.SilentAfter,
		Connections: c.connectionFlags.config(c.trusted()), Identity: c.identity(), SecretOverlap: c.SecretOverlap,
		Renderings: c.Renderings, Debounce: publish.Debounce{Quiet: c.PublishQuiet, Most: c.PublishWithin},
	}
	rules, wrong := hub.Throttles(map[web.Limit]string{
		web.LimitStores: c.LimitStores, web.LimitMenu: c.LimitMenu, web.LimitWebhooks: c.LimitWebhooks,
		web.LimitRead: c.LimitRead, web.LimitRetry: c.LimitRetry,
		web.LimitOperations: c.LimitOps, web.LimitOrders: c.LimitOrders,
		web.LimitOrderUpdates: c.LimitUpdates, web.LimitSwitches: c.LimitSwitches, web.LimitCallbacks: c.LimitCallbacks,
		web.LimitRider: c.LimitRider, web.LimitLocation: c.LimitLocation, web.LimitActions: c.LimitActions,
	})
	config.Limits, mistakes = rules, append(mistakes, wrong...)
	for _, text := range c.WebhookAllow {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			mistakes = append(mistakes,
				fmt.Errorf("SERVERY_WEBHOOK_ALLOW: must be CIDR ranges such as 10.1.0.0/16, not %q", text))
		}
		config.Allow = append(config.Allow, prefix.Masked())
	}
	if _, err := hub.TracingWanted(os.Getenv); err != nil {
		mistakes = append(mistakes, err)
	}
	mistakes = append(mistakes, c.places()...)
	if c.BodyMemory != 0 && c.BodyMemory < hub.LeastMemory {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_BODY_MEMORY: must be 0 or at least %d bytes", hub.LeastMemory))
	}
	mistakes = append(mistakes, config.Validate()...)
	mistakes = append(mistakes, c.identityFlags.wrong()...)
	mistakes = append(mistakes, c.connectionFlags.wrong(inbound.OpenFiles())...)
	if err := c.overlapFlag.wrong(); err != nil {
		mistakes = append(mistakes, err)
	}
	if c.Demo {
		config.Allow = append(config.Allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return config, errors.Join(mistakes...)
}
