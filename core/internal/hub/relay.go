package hub

import (
	"context"
	"errors"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/callback"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/messages"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/polls"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/replicas"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// Plugins is the interface that the relay, the feature actions and the callbacks need.
type Plugins interface {
	relay.Plugins
	relay.Reader
	relay.Verifications
	action.ActionLister
}

// maxPluginResponse bounds the part of a response that plugins receive, in bytes.
const maxPluginResponse = 64 << 10

// maxFetched bounds the fetched content of a request of an aggregator, in bytes.
const maxFetched = 1 << 20

// minCallLease is the minimum lease of a call to an aggregator. Planning, the exchange and the interpretation take
// longer than a delivery.
const minCallLease = 32 * time.Second

// buildTokens creates the sender of calls to aggregators, and the source of their access tokens.
func (h *Hub) buildTokens() {
	clock := h.db.Clock()
	h.aggregatorSender = h.newSender(webhook.SenderConfig{KeepLimit: maxPluginResponse})
	h.tokens = &credential.Manager{Store: platforms.NewTokens(h.db), Platforms: h.config.Platforms,
		Sender: outbound{h.aggregatorSender}, Clock: clock, Log: h.log}
}

// buildRelay creates the engine that calls aggregators.
func (h *Hub) buildRelay(owner core.ID, observer relay.Observer) {
	config, clock := h.config, h.db.Clock()
	limits := relay.Config{Owner: owner, Lease: max(config.DeliveryLease, minCallLease)}
	queue, stored, runs := newCallStore(h.db), orders.New(h.db), polls.New(h.db)
	fetcher := h.newSender(webhook.SenderConfig{ReadLimit: maxFetched, KeepLimit: maxFetched})
	h.relay = relay.NewEngine(limits, relay.Dependencies{
		Queue: poll.Queue{Queue: callback.Queue{Queue: queue, Orders: stored}, Polls: config.Host, Runs: runs},
		Plugins: poll.Caller{Plugins: callback.Fetches{Plugins: config.Plugins, Translator: config.Host,
			Requests: messages.New(h.db), Desk: h.desk()}, Polls: config.Host, Runs: runs},
		SaveSteps: queue.SaveSteps, Values: platforms.New(h.db),
		Platforms: config.Platforms, Sender: outbound{h.aggregatorSender}, Fetcher: outbound{fetcher},
		Tokens: h.tokens, Rates: platforms.NewRates(h.db),
		Clock: clock, Observer: observer, Tracer: config.Tracer, Log: h.log,
	})
	outbox.UseRelay(h.db, h.relay.Wake)
}

// desk stores what the requests of aggregators mean, and the orders of channels.
func (h *Hub) desk() callback.Desk {
	return callback.Desk{Intake: h.intake, Orders: orders.New(h.db), FollowUps: h.followUps,
		Actions: orders.NewActions(h.db), Outcomes: h.outcomes, Stores: platforms.NewCallers(h.db),
		Views: availability.New(h.db), Rejections: newCallStore(h.db), Log: h.log}
}

// schedulePolls queues the polls of the plugins that run here.
func (h *Hub) schedulePolls(ctx context.Context) (err error) {
	if h.relay == nil {
		return nil
	}
	for plugin, declared := range h.config.Host.RunningPolls() {
		err = errors.Join(err, polls.New(h.db).Schedule(ctx, plugin, declared))
	}
	return err
}

// actionDesk accepts feature actions, from the API and from the console.
func (h *Hub) actionDesk() action.Service {
	return action.Service{Repository: orders.NewActions(h.db), Actions: h.config.Plugins, Clock: h.db.Clock()}
}

// outbound sends calls like deliveries.
type outbound struct{ *webhook.Sender }

// Send makes one attempt (relay.Sender).
func (o outbound) Send(ctx context.Context, r relay.Request) relay.Attempt {
	a := o.Exchange(ctx, r)
	return relay.Attempt{
		StartedAt: a.StartedAt, Method: r.Method, URL: r.URL, RequestHeaders: a.RequestHeaders, RequestBody: r.Body,
		Status: a.Status, ErrorClass: string(a.ErrorClass), Error: a.Error,
		ResponseHeaders: a.ResponseHeaders, ResponseBody: a.ResponseBody, Raw: a.Raw,
		Took: max(a.Timing.Total, time.Microsecond),
	}
}

// newCallStore returns the store of calls, with the callbacks for their results.
func newCallStore(db *postgres.DB) calls.Store {
	return calls.New(db, orders.ActionsEnded(db), orders.OutOfStockEnded(db), availability.SwitchesEnded(db),
		messages.Ended)
}

// listenNotifications wakes the parts of this replica when any replica has work for them.
func (h *Hub) listenNotifications(ctx context.Context) {
	channels := map[string]func(string){
		calls.PluginsChannel: func(string) { h.config.Host.Wake() },
		postgres.ClockChannel: func(payload string) {
			if payload != "" {
				signal(h.clockSet)
			}
		},
	}
	if h.engine != nil {
		channels[jobs.Channel] = func(string) { h.runner.Wake() }
		channels[outbox.DeliveriesChannel] = outbox.OnDeliveries(h.db, h.engine.Wake)
		channels[outbox.CallsChannel] = func(string) { h.relay.Wake() }
		channels[publications.Channel] = func(string) { h.publisher.Wake() }
		channels[replicas.Channel] = func(string) { h.membership.Wake() }
		channels[availability.TimerChannel] = func(string) { signal(h.timerSet) }
	}
	h.db.Listen(ctx, channels)
}

// signal sends on a channel of one element, unless an earlier signal was not received yet.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
