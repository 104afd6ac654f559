package storetest

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

// startEngine runs a delivery engine on the database until the test ends or stop is called.
func startEngine(t *testing.T, db *postgres.DB, config webhook.Config,
	local bool) (engine *webhook.Engine, stop func()) {
	t.Helper()
	return startSending(t, db, webhook.SenderConfig{}, config, local)
}

// patient waits for the response of an endpoint that hangs until the test lets it respond.
var patient = webhook.SenderConfig{ExchangeTimeout: time.Minute}

// startSending is startEngine with its own configuration of the sender.
func startSending(t *testing.T, db *postgres.DB, sending webhook.SenderConfig, config webhook.Config,
	local bool) (engine *webhook.Engine, stop func()) {
	t.Helper()
	guard := webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	sender := webhook.NewSender(sending, guard, db.Clock())
	engine = webhook.NewEngine(config, webhook.Dependencies{Queue: deliveries.New(db), Poster: sender,
		Clock: db.Clock(), Observer: noObserver{}, Log: hubtest.Logger()})
	if local {
		outbox.UseStarter(db, engine)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		engine.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		sender.Close()
	})
	t.Cleanup(stop)
	return engine, stop
}
