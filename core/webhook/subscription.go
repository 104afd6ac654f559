package webhook

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// Records keeps subscriptions.
type Records interface {
	// Upsert finds the subscription of the event type and address, lets decide
	// change it (nil: there is none yet) and stores the outcome, with a line of the
	// audit trail where it differs.
	Upsert(ctx context.Context, business core.BusinessID, actor string, event core.EventType, url string, decide func(*Subscription) (Subscription, error)) (Subscription, error)
	// Change lets decide change a subscription and stores it, with a line of the audit
	// trail where it differs; NotFound where the business has none of that id, Conflict
	// where another has the event type and address.
	Change(ctx context.Context, business core.BusinessID, actor string, id int64, decide func(*Subscription) error) error
	// Rotate stores the secrets that decide gives a subscription, with a line of
	// the audit trail; NotFound where the business has none of that id.
	Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string, decide func(*Subscription)) (Subscription, error)
	Get(ctx context.Context, business core.BusinessID, id int64) (Subscription, error)
	List(ctx context.Context, business core.BusinessID, limit, offset int) ([]Subscription, int, error)
}

// Subscriptions is what integrators do with their webhooks (spec, Endpoint 3).
type Subscriptions struct {
	Records Records
	Guard   *Guard
	Overlap time.Duration // how long the earlier of two secrets signs too
	Clock   core.Clock
}

// Create makes a subscription, or changes the one that the business already has
// for the event type and address; created tells which.
func (s Subscriptions) Create(ctx context.Context, business core.BusinessID, actor string, input Input) (sub Subscription, created bool, err error) {
	if err := s.checkAddress(input.URL); err != nil {
		return Subscription{}, false, err
	}
	now := s.Clock.Now()
	sub, err = s.Records.Upsert(ctx, business, actor, input.EventType, *input.URL, func(existing *Subscription) (Subscription, error) {
		if created = existing == nil; created {
			existing = &Subscription{
				Business: business, EventType: input.EventType, URL: *input.URL, Active: true, Units: Minutes,
				Headers: map[string]string{}, Secret: NewSecret(), CreatedAt: now,
			}
		}
		input.apply(existing, now)
		return *existing, nil
	})
	return sub, created, err
}

// Update changes the fields that the input carries.
func (s Subscriptions) Update(ctx context.Context, business core.BusinessID, actor string, id int64, input Input) error {
	if input.URL != nil {
		if err := s.checkAddress(input.URL); err != nil {
			return err
		}
	}
	return s.Records.Change(ctx, business, actor, id, func(sub *Subscription) error {
		if input.EventType != "" && input.EventType != sub.EventType {
			var v core.Violations
			v.AddBody("event_type", "immutable", "must stay "+string(sub.EventType)+"; create another webhook for another event")
			return v.Err()
		}
		input.apply(sub, s.Clock.Now())
		return nil
	})
}

func (s Subscriptions) checkAddress(url *string) error {
	var v core.Violations
	if wrong := s.Guard.CheckURL(*url); wrong != "" {
		v.AddBody("url", "address", wrong)
	}
	return v.Err()
}

// apply changes what the input carries. Switching a subscription on again
// clears the reason for which the hub had switched it off.
func (i Input) apply(sub *Subscription, now time.Time) {
	if i.URL != nil {
		sub.URL = *i.URL
	}
	if i.Active != nil {
		sub.Active = *i.Active
	}
	if i.Units != nil {
		sub.Units = *i.Units
	}
	if i.Headers != nil {
		sub.Headers = i.Headers
	}
	if sub.Active {
		sub.DisabledReason = ""
	}
	sub.UpdatedAt = now
}
