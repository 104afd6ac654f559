package main

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// plugins is what the relay, the feature actions and the callbacks ask of them.
type plugins interface {
	relay.Plugins
	relay.Reader
	relay.Proofs
	action.Offers
}

// keptForPlugins is how much of an answer a plugin gets to read, in bytes.
const keptForPlugins = 64 << 10

// leastCallLease is what a call to an aggregator needs: planning it, the exchange
// and reading the answer take longer than a delivery.
const leastCallLease = 20 * time.Second

// joinRelay makes the engine that calls aggregators.
func (h *hub) joinRelay(config hubConfig, observer relay.Observer) {
	clock := h.db.Clock()
	h.caller = webhook.NewSender(webhook.SenderConfig{UserAgent: "Servery/1", KeepLimit: keptForPlugins}, h.guard, clock)
	h.relay = relay.NewEngine(relay.Config{Lease: max(config.deliveryLease, leastCallLease)}, relay.Parts{
		Queue: postgres.Calls{DB: h.db}, Plugins: config.plugins, Platforms: config.platforms, Sender: outbound{h.caller},
		Clock: clock, Observer: observer, Tracer: config.tracer, Log: h.log,
	})
	h.db.UseRelay(h.relay.Wake)
}

// outbound sends calls as deliveries are sent.
type outbound struct{ *webhook.Sender }

// Send makes one attempt (relay.Sender).
func (o outbound) Send(ctx context.Context, r relay.Request) relay.Attempt {
	a := o.Exchange(ctx, r.Method, r.URL, r.Headers, r.Secrets, r.Body)
	return relay.Attempt{
		StartedAt: a.StartedAt, Method: r.Method, URL: r.URL, RequestHeaders: a.RequestHeaders, RequestBody: r.Body, Status: a.Status, ErrorClass: string(a.ErrorClass), Error: a.Error,
		ResponseHeaders: a.ResponseHeaders, ResponseBody: a.ResponseBody, Took: max(a.Timing.Total, time.Microsecond),
	}
}
