// Package presence knows when something was last heard of the POS of each store,
// and which of them are silent while their store is open. Signs of life are
// accepted deliveries and calls that name the store; they are gathered in memory
// and stored once a minute.
package presence

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Sign is a sign of life. It tells the store by one of three.
type Sign struct {
	Business core.BusinessID
	StoreID  int64
	StoreRef string // the POS's own identifier of the store
	OrderID  int64  // an order of the store
}

// maxSigns bounds what waits to be stored; beyond it, signs are not noted.
const maxSigns = 100_000

// Tally gathers signs of life in memory until they are stored. It may be used by
// many goroutines; a crash loses those of the last minute.
type Tally struct {
	mu    sync.Mutex
	signs map[Sign]time.Time
}

// Hear notes a sign of life.
func (t *Tally) Hear(s Sign, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.signs == nil {
		t.signs = map[Sign]time.Time{}
	}
	if last, known := t.signs[s]; (known || len(t.signs) < maxSigns) && at.After(last) {
		t.signs[s] = at
	}
}

func (t *Tally) take() map[Sign]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	signs := t.signs
	t.signs = nil
	return signs
}

// storeField comes before the id of the store in the hub's own events of orders.
// In a text that somebody sent, its quotes would be escaped.
var storeField = []byte(`"store":{"id":`)

// StoreOf is the store that an event of an order names by its id, 0 for none. It
// reads no more of the body than it must: there is one for each delivery.
func StoreOf(body []byte) (id int64) {
	at := bytes.LastIndex(body, storeField)
	if at < 0 {
		return 0
	}
	for _, digit := range body[at+len(storeField):] {
		if digit < '0' || digit > '9' {
			break
		}
		id = id*10 + int64(digit-'0')
	}
	return id
}

// Store is a store of which something was heard.
type Store struct {
	Business    core.BusinessID
	ID          int64
	RefID       string
	Name        string
	SeenAt      time.Time
	SilentSince time.Time // zero: it is not silent

	// Of those that are judged.
	Local      time.Time     // the present instant in the zone of the business
	Timings    []byte        // its opening hours as stored
	TakesOrder bool          // it is active and takes orders
	After      time.Duration // how long is silent; 0: never
	Closes     bool          // the business wants it closed on the platforms while it is silent
}

// Change is a store whose POS fell silent or is heard of again.
type Change struct {
	Store
	Silent bool
}

// Records keeps what was heard.
type Records interface {
	// Keep stores signs of life. What it says of no store that there is, is dropped.
	Keep(ctx context.Context, signs map[Sign]time.Time) error
	// Review has judge look at the stores of which nothing was heard for so long as
	// their business, or where it does not say, as after calls silent, and at those
	// that are silent, and stores since when each of them has been silent; of
	// replicas that do so at the same time one does. It returns those that changed.
	Review(ctx context.Context, after time.Duration, judge func(Store) (silentSince time.Time, err error)) ([]Change, error)
	// Unsettled reads the stores that are to be closed for their silence and are
	// not, and those that are closed for it and are not to be.
	Unsettled(ctx context.Context) ([]Store, error)
	// Settle closes an unsettled store wherever it is open, or opens it where it was
	// closed so, and keeps that it did, all at once; where another replica was
	// quicker, or it is to be closed and is not silent any more, it does nothing.
	Settle(ctx context.Context, s Store, closed bool, reason string) error
}

// Hours tells whether a store is open by its opening hours as stored, at an
// instant of its local time, and how long ago it opened.
type Hours func(timings []byte, local time.Time) (open bool, ago time.Duration, err error)

// Watch finds out which stores have a POS that is silent.
type Watch struct {
	*Tally
	Records Records
	Hours   Hours
	After   time.Duration // how long is silent, where a business does not say; 0: never
	Clock   core.Clock
}

// Store stores what was heard; where that fails, the next call does.
func (w Watch) Store(ctx context.Context) error {
	signs := w.take()
	if len(signs) == 0 {
		return nil
	}
	err := w.Records.Keep(ctx, signs)
	if err != nil { // a POS that is heard of seldom would be taken for a silent one
		for sign, at := range signs {
			w.Hear(sign, at)
		}
	}
	return err
}

// Look finds out who fell silent and who is heard of again, and closes or opens
// the stores of those businesses that want it, also those for which that was left
// undone before. It returns what changed.
func (w Watch) Look(ctx context.Context) ([]Change, error) {
	changes, err := w.Records.Review(ctx, w.After, w.judge)
	if err != nil {
		return changes, err
	}
	unsettled, err := w.Records.Unsettled(ctx)
	for _, s := range unsettled {
		err = errors.Join(err, w.settle(ctx, s))
	}
	return changes, err
}

func (w Watch) settle(ctx context.Context, s Store) error {
	switch {
	case s.SilentSince.IsZero():
		return w.Records.Settle(ctx, s, false, "the POS is heard of again")
	case !s.Closes:
		return w.Records.Settle(ctx, s, false, "stores are not closed any more while their POS is silent")
	default:
		return w.Records.Settle(ctx, s, true, "the POS has been silent since "+s.SilentSince.UTC().Format(time.RFC3339))
	}
}

// judge tells since when a POS has been silent; the zero time: it is not. Silence
// counts while the store is open: what was heard before it opened counts as heard
// at its opening. A store that closes stays as it is until it opens again, so
// that nobody has to be told of every evening.
func (w Watch) judge(s Store) (time.Time, error) {
	now := w.Clock.Now()
	if !s.TakesOrder || s.After == 0 || now.Sub(s.SeenAt) < s.After {
		return time.Time{}, nil
	}
	open, ago, err := w.Hours(s.Timings, s.Local)
	if err != nil || !open {
		return s.SilentSince, err
	}
	since := s.SeenAt
	if opened := now.Add(-ago); opened.After(since) {
		since = opened
	}
	switch {
	case !s.SilentSince.IsZero():
		return s.SilentSince, nil
	case now.Sub(since) < s.After:
		return time.Time{}, nil
	}
	return since, nil
}
