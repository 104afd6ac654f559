package menus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// keyedMutex serializes menu changes in this replica, per business. Callers wait here and occupy no
// pool connection, because a menu job may hold the menu lock for long.
type keyedMutex struct {
	busy    error // nil: errMenuBusy
	Mu      sync.Mutex
	Entries map[core.BusinessID]*mutexEntry
}

type mutexEntry struct {
	lock  chan struct{}
	Users int // the holder and the waiting callers
}

// MenuMutex returns the menu mutex of this replica.
func MenuMutex(db *postgres.DB) *keyedMutex {
	return postgres.StateOf(db, func(*postgres.DB) *keyedMutex { return &keyedMutex{} })
}

// maxMutexWaiting bounds the callers that wait for one business.
const maxMutexWaiting = 256

// ErrMenuLocked is returned if the menu is locked; the transaction should be retried.
var ErrMenuLocked = errors.New("the menu is being changed")

// errMenuBusy reports that nothing was changed.
var errMenuBusy = &core.Error{Code: core.Unavailable,
	Message: "the menu of the business is being changed by others: resend the request", RetryAfter: time.Second}

// Do runs change while it holds the mutex of a business, and retries it while it returns
// ErrMenuLocked. It returns Unavailable if the menu stays locked until the context ends.
func (t *keyedMutex) Do(ctx context.Context, business core.BusinessID, change func() error) error {
	entry, err := t.acquire(business)
	if err != nil {
		return err
	}
	defer t.release(business, entry)
	select {
	case entry.lock <- struct{}{}:
	case <-ctx.Done():
		return t.busyError()
	}
	defer func() { <-entry.lock }()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if err := change(); !errors.Is(err, ErrMenuLocked) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return t.busyError()
		}
	}
}

func (t *keyedMutex) busyError() error {
	if t.busy != nil {
		return t.busy
	}
	return errMenuBusy
}

func (t *keyedMutex) acquire(business core.BusinessID) (*mutexEntry, error) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	entry := t.Entries[business]
	if entry == nil {
		if t.Entries == nil {
			t.Entries = map[core.BusinessID]*mutexEntry{}
		}
		entry = &mutexEntry{lock: make(chan struct{}, 1)}
		t.Entries[business] = entry
	}
	if entry.Users == maxMutexWaiting {
		return nil, t.busyError()
	}
	entry.Users++
	return entry, nil
}

func (t *keyedMutex) release(business core.BusinessID, entry *mutexEntry) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if entry.Users--; entry.Users == 0 {
		delete(t.Entries, business)
	}
}
