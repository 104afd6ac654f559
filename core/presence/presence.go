// Package presence records when the POS of each store was last active, and detects silent ones while their store is
// open. Heartbeats are accepted deliveries and calls that name the store. They are collected in memory and stored
// once a minute.
package presence

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Heartbeat is a sign of life of a POS. One of three fields identifies the store.
type Heartbeat struct {
	Business core.BusinessID
	StoreID  int64
	StoreRef string // the POS's own identifier of the store
	OrderID  int64  // an order of the store
}

// At maxHeartbeats in memory, further ones are dropped. A business still has ownHeartbeats, whatever others record.
const (
	maxHeartbeats = 100_000
	ownHeartbeats = 10_000
)

// Tally collects heartbeats in memory until they are stored. It is safe for concurrent use. A crash loses those of
// the last minute.
type Tally struct {
	mu         sync.Mutex
	heartbeats map[Heartbeat]time.Time
	counts     map[core.BusinessID]int // of heartbeats
}

// Record records a heartbeat.
func (t *Tally) Record(s Heartbeat, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heartbeats == nil {
		t.heartbeats, t.counts = map[Heartbeat]time.Time{}, map[core.BusinessID]int{}
	}
	last, known := t.heartbeats[s]
	if !at.After(last) ||
		!known && len(t.heartbeats) >= maxHeartbeats && t.counts[s.Business] >= ownHeartbeats {
		return
	}
	if t.heartbeats[s] = at; !known {
		t.counts[s.Business]++
	}
}

func (t *Tally) take() map[Heartbeat]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	signs := t.heartbeats
	t.heartbeats, t.counts = nil, nil
	return signs
}

// storeField precedes the store id in the hub's own events of orders. In a string that a client sent, its quotes
// would be escaped.
var storeField = []byte(`"store":{"id":`)

// StoreOf returns the store id in an event of an order, or 0 if there is none. It searches the text instead of
// decoding it, because it runs for every delivery.
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

// Store is a store with a recorded heartbeat.
type Store struct {
	Business    core.BusinessID
	ID          int64
	RefID       string
	Name        string
	SeenAt      time.Time
	SilentSince time.Time // zero: it is not silent

	// Input of the check:
	LocalTime       time.Time     // the current time in the zone of the business
	Timings         []byte        // its opening hours as stored
	SpecialTimings  []byte        // those of dates
	TakesOrder      bool          // it is active and takes orders
	SilenceLimit    time.Duration // how long without a heartbeat counts as silent; 0: never
	CloseWhenSilent bool          // the business wants it closed on the platforms while it is silent
}

// Change is a store whose POS fell silent or is active again.
type Change struct {
	Store
	Silent bool
}

// Repository stores heartbeats.
type Repository interface {
	// SaveHeartbeats stores heartbeats. It drops those of unknown stores.
	SaveHeartbeats(ctx context.Context, signs map[Heartbeat]time.Time) error
	// Review calls check for the silent stores and those that may be silent, and stores the results. A store may be
	// silent after the limit of its business, or else after the given limit. Concurrent calls of replicas are
	// serialised. Review returns the stores that changed.
	Review(ctx context.Context, after time.Duration, check func(Store) (silentSince time.Time, err error)) ([]Change,
		error)
	// PendingStores returns the silent stores that must still be closed, and the stores closed for silence that must
	// be opened.
	PendingStores(ctx context.Context) ([]Store, error)
	// SetClosed closes a pending store wherever it is open, or opens it where silence closed it. It records that in
	// the same transaction. It does nothing if another replica has done so, or if the store is no longer silent.
	SetClosed(ctx context.Context, s Store, closed bool, reason string) error
}

// Hours reports whether a store is open at its local time, by its stored opening hours, and how long ago it opened.
type Hours func(s Store) (open bool, ago time.Duration, err error)

// Monitor detects stores with a silent POS.
type Monitor struct {
	*Tally
	Repository   Repository
	Hours        Hours
	SilenceLimit time.Duration // the silence limit of a business without its own; 0: never
	Clock        core.Clock
}

// Flush stores the collected heartbeats. After an error the next call stores them.
func (w Monitor) Flush(ctx context.Context) error {
	signs := w.take()
	if len(signs) == 0 {
		return nil
	}
	err := w.Repository.SaveHeartbeats(ctx, signs)
	if err != nil { // otherwise a POS with few heartbeats would seem silent
		for sign, at := range signs {
			w.Record(sign, at)
		}
	}
	return err
}

// Check detects stores that fell silent or are active again. For businesses that want it, it also closes or opens
// these stores, including those left over from an earlier call. It returns the changes.
func (w Monitor) Check(ctx context.Context) ([]Change, error) {
	changes, err := w.Repository.Review(ctx, w.SilenceLimit, w.silentSince)
	if err != nil {
		return changes, err
	}
	unsettled, err := w.Repository.PendingStores(ctx)
	for _, s := range unsettled {
		err = errors.Join(err, w.applySilence(ctx, s))
	}
	return changes, err
}

func (w Monitor) applySilence(ctx context.Context, s Store) error {
	switch {
	case s.SilentSince.IsZero():
		return w.Repository.SetClosed(ctx, s, false, "the POS is active again")
	case !s.CloseWhenSilent:
		return w.Repository.SetClosed(ctx, s, false, "stores stay open while their POS is silent")
	default:
		return w.Repository.SetClosed(ctx, s, true,
			"the POS has been silent since "+s.SilentSince.UTC().Format(time.RFC3339))
	}
}

// silentSince returns since when a POS has been silent, or the zero time if it is not. Silence counts only while the
// store is open: a heartbeat before opening time counts as one at opening time. A store that closes keeps its state
// until it opens again, so that closing time causes no notification.
func (w Monitor) silentSince(s Store) (time.Time, error) {
	now := w.Clock.Now()
	if !s.TakesOrder || s.SilenceLimit == 0 || now.Sub(s.SeenAt) < s.SilenceLimit {
		return time.Time{}, nil
	}
	open, ago, err := w.Hours(s)
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
	case now.Sub(since) < s.SilenceLimit:
		return time.Time{}, nil
	}
	return since, nil
}
