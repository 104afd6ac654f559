package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestEventWithoutOwnWebhookGoesToOrderWebhook(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Open(t, hubtest.DatabaseURL(t), clock)
	for _, eventType := range []core.EventType{core.WebhookRetry, core.FeatureAction} {
		business := hubtest.Business(t, db).ID
		orders := hubtest.Subscribe(t, db, business, core.OrderPlaced, "https://pos.example/orders")
		sentTo := func() (to int64) {
			event := core.Event{ID: core.NewID(clock.Now()), Business: business, Type: eventType, At: clock.Now(),
				Body: []byte(`{}`)}
			require.NoError(t, outbox.NewPublisher(db).Publish(ctx, event))
			pgtest.Row(t, db, &to, `SELECT webhook_id FROM delivery_queue WHERE event_id = ?`, event.ID)
			return to
		}
		require.Equal(t, orders.ID, sentTo(), "no own webhook")
		own := hubtest.Subscribe(t, db, business, eventType, "https://pos.example/results")
		require.Equal(t, own.ID, sentTo())
		require.NoError(t, webhooksdb.New(db).Change(ctx, business, "test", own.ID,
			func(s *webhook.Subscription) error {
				s.Active = false
				return nil
			}))
		require.Equal(t, orders.ID, sentTo(), "it is switched off")
	}
}
