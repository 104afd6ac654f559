package hub

import (
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// menuSendTimeout bounds the sending of a menu. Menus are large and aggregators respond slowly to them.
const menuSendTimeout = 20 * time.Second

// buildPublisher creates the engine that publishes menus.
func (h *Hub) buildPublisher(owner core.ID, observer publish.Observer) {
	config, clock := h.config, h.db.Clock()
	sender := h.newSender(webhook.SenderConfig{ExchangeTimeout: menuSendTimeout, KeepLimit: maxPluginResponse})
	limits := publish.Config{Owner: owner, MaxRenderings: config.Renderings}
	h.publisher = publish.NewEngine(limits, publish.Dependencies{
		Queue: publications.New(h.db), Clock: clock, Observer: observer, Busy: h.runner.Busy, Log: h.log,
		Tracer: config.Tracer,
		Renderer: aggregator.Renderer{
			Host: config.Host, Source: menus.NewMenuSource(h.db), Calls: newCallStore(h.db),
			Dispatcher: relay.Dispatcher{Sender: outbound{sender}, Tokens: h.tokens,
				Rates: platforms.NewRates(h.db), Clock: clock, Log: h.log}, Log: h.log,
			SaveSteps: publications.New(h.db).SaveSteps,
		},
	})
}
