package webhook

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// Records stores subscriptions.
type Records interface {
	// Upsert finds the subscription of the event type and URL and calls decide with it, or with nil if there is none.
	// It stores the result, with an audit entry if it differs.
	Upsert(ctx context.Context, business core.BusinessID, actor string, event core.EventType, url string,
		decide func(*Subscription) (Subscription, error)) (Subscription, error)
	// Change lets decide change a subscription and stores it, with an audit entry if it differs. It returns NotFound
	// for an unknown id, and Conflict if another subscription has the event type and URL.
	Change(ctx context.Context, business core.BusinessID, actor string, id int64,
		decide func(*Subscription) error) error
	// Rotate stores the secrets that decide sets, with an audit entry. It returns NotFound for an unknown id.
	Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string,
		decide func(*Subscription)) (Subscription, error)
	Get(ctx context.Context, business core.BusinessID, id int64) (Subscription, error)
	List(ctx context.Context, business core.BusinessID, limit, offset int) ([]Subscription, int, error)
}

// Subscriptions manages the webhooks of integrators (spec, Endpoint 3).
type Subscriptions struct {
	Records Records
	Guard   *Guard
	Overlap time.Duration // how long the previous secret also signs
	Clock   core.Clock
}

// Create creates a subscription, or updates the one that the business has for the event type and URL. It returns that
// one as before, or nil. A subscription that the hub disabled is enabled again, because the caller asks for events.
// One that a person disabled stays disabled unless the input sets active.
func (s Subscriptions) Create(ctx context.Context, business core.BusinessID, actor string,
	input Input) (sub Subscription, before *Subscription, err error) {
	if err := s.CheckAddress("url", *input.URL); err != nil {
		return Subscription{}, nil, err
	}
	now := s.Clock.Now()
	sub, err = s.Records.Upsert(ctx, business, actor, input.EventType, *input.URL,
		func(existing *Subscription) (Subscription, error) {
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

// Update changes the fields that the input sets.
func (s Subscriptions) Update(ctx context.Context, business core.BusinessID, actor string, id int64,
	input Input) error {
	if input.URL != nil {
		if err := s.CheckAddress("url", *input.URL); err != nil {
			return err
		}
	}
	return s.Records.Change(ctx, business, actor, id, func(sub *Subscription) error {
		if input.EventType != "" && input.EventType != sub.EventType {
			var v core.Violations
			v.AddBody("event_type", "immutable",
				"must stay "+string(sub.EventType)+": create another webhook for another event type")
			return v.Err()
		}
		input.apply(sub, s.Clock.Now())
		return nil
	})
}

// CheckAddress rejects a URL to which no delivery may go. The Invalid error names the field of the request.
func (s Subscriptions) CheckAddress(field, address string) error {
	var v core.Violations
	if wrong := s.Guard.CheckURL(address); wrong != "" {
		v.AddBody(field, "address", wrong)
	}
	return v.Err()
}

// apply sets the fields of the input. Setting active clears the reason for which the hub disabled the subscription.
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
