package webhook

import (
	"context"

	"github.com/servery-hub/servery/core"
)

// Publisher stores events with their deliveries.
type Publisher interface {
	Publish(ctx context.Context, events ...core.Event) error
}

// Tester sends sample events on request, through the regular delivery path.
type Tester struct {
	Subscriptions SubscriptionStore
	Publisher     Publisher
	Sample        func(core.EventType) []byte // returns a body as receivers get it
	Clock         core.Clock
}

// Test sends a sample event to the subscription alone. It returns the reference of the delivery. It returns NotFound
// for an unknown webhook and Conflict for a disabled one.
func (t Tester) Test(ctx context.Context, business core.BusinessID, id int64) (core.ID, error) {
	sub, err := t.Subscriptions.Get(ctx, business, id)
	if err != nil {
		return core.ID{}, err
	}
	if !sub.Active {
		return core.ID{}, core.Errorf(core.Conflict, "webhook %d is disabled: enable it to send a test event",
			id)
	}
	now := t.Clock.Now()
	reference := core.NewID(now)
	return reference, t.Publisher.Publish(ctx, core.Event{
		ID: core.NewID(now), Business: business, Type: sub.EventType, At: now, Body: t.Sample(sub.EventType),
		Reference: reference.String(), WebhookID: id, Test: true,
	})
}
