package main

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
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

// noPlugins stands in a hub that runs none.
type noPlugins struct{}

var errNoPlugins = core.Errorf(core.Unavailable, "this hub runs no plugins")

// Plan lets every call wait.
func (noPlugins) Plan(context.Context, relay.Call, []byte) (relay.Decision, error) {
	return relay.Decision{}, errNoPlugins
}

// Interpret is never asked.
func (noPlugins) Interpret(context.Context, relay.Call, []byte, relay.Response) (relay.Outcome, error) {
	return relay.Outcome{}, errNoPlugins
}

// Read reads nothing.
func (noPlugins) Read(context.Context, relay.Inbound) (relay.Message, error) {
	return relay.Message{}, errNoPlugins
}

// Proof knows none.
func (noPlugins) Proof(string, string) (relay.Proof, error) { return relay.Proof{}, errNoPlugins }

// Actions knows none.
func (noPlugins) Actions(context.Context, string) ([]string, error) { return nil, errNoPlugins }
