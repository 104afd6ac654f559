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
// for the event type and address: before is what that was, nil where there was none.
// One that the hub had switched off is on again, since whoever subscribes wants
// events; one that somebody else switched off stays so unless the input says active.
func (s Subscriptions) Create(ctx context.Context, business core.BusinessID, actor string, input Input) (sub Subscription, before *Subscription, err error) {
	if err := s.CheckAddress("url", *input.URL); err != nil {
		return Subscription{}, nil, err
	}
	now := s.Clock.Now()
	sub, err = s.Records.Upsert(ctx, business, actor, input.EventType, *input.URL, func(existing *Subscription) (Subscription, error) {
		sub := Subscription{
			Business: business, EventType: input.EventType, URL: *input.URL, Active: true, Units: Minutes,
			Headers: map[string]string{}, Secret: NewSecret(), CreatedAt: now,
		}
		if before = existing; before != nil {
			sub = *before
		}
		if sub.DisabledReason != "" && input.Active == nil {
			sub.Active, sub.DisabledReason = true, ""
		}
		input.apply(&sub, now)
		return sub, nil
	})
	return sub, before, err
}

// Update changes the fields that the input carries.
func (s Subscriptions) Update(ctx context.Context, business core.BusinessID, actor string, id int64, input Input) error {
	if input.URL != nil {
		if err := s.CheckAddress("url", *input.URL); err != nil {
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

// CheckAddress refuses an address to which no delivery may go, with an Invalid error
// that names the field of the request in which it stands.
func (s Subscriptions) CheckAddress(field, address string) error {
	var v core.Violations
	if wrong := s.Guard.CheckURL(address); wrong != "" {
		v.AddBody(field, "address", wrong)
	}
	return v.Err()
}

// apply changes what the input carries. Who switches a subscription on or off has the
// last word: the reason for which the hub had switched it off is none any more.
func (i Input) apply(sub *Subscription, now time.Time) {
	if i.URL != nil {
		sub.URL = *i.URL
	}
	if i.Active != nil {
		sub.Active, sub.DisabledReason = *i.Active, ""
	}
	if i.Units != nil {
		sub.Units = *i.Units
	}
	if i.Headers != nil {
		sub.Headers = i.Headers
	}
	sub.UpdatedAt = now
}
