package webhook

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// SubscriptionStore stores subscriptions.
type SubscriptionStore interface {
	// Upsert finds the subscription of each key and calls decide with its index and the subscription, or nil if there
	// is none. It stores all results or none, with an audit entry for each that differs. An error that concerns one
	// of them is an ItemError.
	Upsert(ctx context.Context, business core.BusinessID, actor string, keys []Key,
		decide func(i int, existing *Subscription) (Subscription, error)) ([]Subscription, error)
	// Change lets decide change a subscription and stores it, with an audit entry if it differs. It returns NotFound
	// for an unknown id, and Conflict if another subscription has the event type and URL.
	Change(ctx context.Context, business core.BusinessID, actor string, id int64,
		decide func(*Subscription) error) error
	// Rotate stores the secrets that decide sets, with an audit entry. It returns NotFound for an unknown id.
	Rotate(ctx context.Context, business core.BusinessID, id int64, by Author,
		decide func(*Subscription)) (Subscription, error)
	Get(ctx context.Context, business core.BusinessID, id int64) (Subscription, error)
	List(ctx context.Context, business core.BusinessID, limit, offset int) ([]Subscription, int, error)
}

// Author is who makes a change and why, for the audit trail.
type Author struct{ Actor, Why string }

// Subscriptions manages the webhooks of integrators.
type Subscriptions struct {
	Store   SubscriptionStore
	Guard   *Guard
	Overlap time.Duration // how long the previous secret also signs
	Clock   core.Clock
}

// Key identifies a subscription of a business.
type Key struct {
	EventType core.EventType
	URL       string
}

// ItemError is an error that concerns one of several subscriptions.
type ItemError struct {
	Index int
	Err   error
}

// Error returns the text of the error itself.
func (e *ItemError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *ItemError) Unwrap() error { return e.Err }

// Created is a subscription that was created, or updated because the business had it.
type Created struct {
	Subscription
	Previous *Subscription // nil if it was created
}

// Create creates a subscription, or updates the one that the business has for the event type and URL. A subscription
// that the hub disabled is enabled again, because the caller asks for events. One that a person disabled stays
// disabled unless the input sets active.
func (s Subscriptions) Create(ctx context.Context, business core.BusinessID, actor string,
	input Input) (Created, error) {
	created, err := s.create(ctx, business, actor, []Input{input})
	if err != nil {
		return Created{}, err
	}
	return created[0], nil
}

// CreateAll does what Create does, for all inputs or none. Errors name the webhook of the request.
func (s Subscriptions) CreateAll(ctx context.Context, business core.BusinessID, actor string,
	inputs []Input) ([]Created, error) {
	created, err := s.create(ctx, business, actor, inputs)
	var item *ItemError
	var known *core.Error
	if !errors.As(err, &item) || !errors.As(item.Err, &known) {
		return created, err
	}
	at := bulkObject(item.Index)
	if known.Code != core.Invalid {
		return nil, core.Errorf(known.Code, "%s: %s", at, known.Message)
	}
	var v core.Violations
	for _, wrong := range known.Violations {
		v.Add(at, wrong.Path, wrong.Code, strings.TrimPrefix(wrong.Message, wrong.Path+" "))
	}
	return nil, v.Err()
}

func (s Subscriptions) create(ctx context.Context, business core.BusinessID, actor string,
	inputs []Input) ([]Created, error) {
	keys, created := make([]Key, len(inputs)), make([]Created, len(inputs))
	for i, input := range inputs {
		if err := s.CheckURL("url", *input.URL); err != nil {
			return nil, &ItemError{i, err}
		}
		keys[i] = input.key()
	}
	now := s.Clock.Now()
	stored, err := s.Store.Upsert(ctx, business, actor, keys,
		func(i int, existing *Subscription) (Subscription, error) {
			sub := Subscription{
				Business: business, EventType: keys[i].EventType, URL: keys[i].URL, Active: true, Units: Minutes,
				Headers: map[string]string{}, Secret: NewSecret(), CreatedAt: now,
			}
			if created[i].Previous = existing; existing != nil {
				sub = *existing
			}
			if sub.DisabledReason != "" && inputs[i].Active == nil {
				sub.Active, sub.DisabledReason = true, ""
			}
			err := inputs[i].Apply(&sub, now)
			return sub, err
		})
	if err != nil {
		return nil, err
	}
	for i, sub := range stored {
		created[i].Subscription = sub
	}
	return created, nil
}

// key returns what identifies the subscription of a creation.
func (i Input) key() Key { return Key{i.EventType, *i.URL} }

// Update changes the fields that the input sets.
func (s Subscriptions) Update(ctx context.Context, business core.BusinessID, actor string, id int64,
	input Input) error {
	if input.URL != nil {
		if err := s.CheckURL("url", *input.URL); err != nil {
			return err
		}
	}
	return s.Store.Change(ctx, business, actor, id, func(sub *Subscription) error {
		var v core.Violations
		if input.EventType != "" && input.EventType != sub.EventType {
			v.AddBody("event_type", "immutable",
				"must stay "+string(sub.EventType)+": create another webhook for another event type")
			return v.Err()
		}
		address := sub.URL
		if input.URL != nil {
			address = *input.URL
		}
		if checkHeaders(input.Headers, address, sub.EventType, v.AddBody); v.Any() {
			return v.Err()
		}
		return input.Apply(sub, s.Clock.Now())
	})
}

// CheckURL rejects a URL that deliveries may not reach. The Invalid error names the field of the request.
func (s Subscriptions) CheckURL(field, address string) error {
	var v core.Violations
	if wrong := s.Guard.CheckURL(address); wrong != "" {
		v.AddBody(field, "address", wrong)
	}
	return v.Err()
}

// Apply sets the fields of the input. Setting active clears the reason for which the hub disabled the subscription.
// Apply returns Invalid if the fields do not suit the others of the subscription.
func (i Input) Apply(sub *Subscription, now time.Time) error {
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
	return i.applyEventHeader(sub)
}
