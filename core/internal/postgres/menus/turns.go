package menus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// keyedMutex serializes menu changes in this replica, per business. Callers wait here and not
// on pool connections, because a menu job may hold the menu lock for long.
type keyedMutex struct {
	Mu sync.Mutex
	Of map[core.BusinessID]*turn
}

type turn struct {
	taken chan struct{}
	Users int // the holder and the waiting callers
}

// TurnsOf returns the menu mutex of this replica.
func TurnsOf(db *postgres.DB) *keyedMutex {
	return postgres.StateOf(db, func(*postgres.DB) *keyedMutex { return &keyedMutex{} })
}

// turnsWaiting bounds the callers that wait for one business.
const turnsWaiting = 256

// ErrMenuHeld is returned if the menu is locked; the transaction should be retried.
var ErrMenuHeld = errors.New("the menu is being changed")

// errMenuBusy reports that nothing was changed.
var errMenuBusy = &core.Error{Code: core.Unavailable,
	Message: "the menu of the business is being changed by others: resend the request", RetryAfter: time.Second}

// Do runs change while it holds the mutex of a business, and retries it while it returns
// ErrMenuHeld. It returns Unavailable if the menu stays locked until the context ends.
func (t *keyedMutex) Do(ctx context.Context, business core.BusinessID, change func() error) error {
	mine, err := t.join(business)
	if err != nil {
		return err
	}
	defer t.leave(business, mine)
	select {
	case mine.taken <- struct{}{}:
	case <-ctx.Done():
		return errMenuBusy
	}
	defer func() { <-mine.taken }()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if err := change(); !errors.Is(err, ErrMenuHeld) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errMenuBusy
		}
	}
}

func (t *keyedMutex) join(business core.BusinessID) (*turn, error) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	mine := t.Of[business]
	if mine == nil {
		if t.Of == nil {
			t.Of = map[core.BusinessID]*turn{}
		}
		mine = &turn{taken: make(chan struct{}, 1)}
		t.Of[business] = mine
	}
	if mine.Users == turnsWaiting {
		return nil, errMenuBusy
	}
	mine.Users++
	return mine, nil
}

func (t *keyedMutex) leave(business core.BusinessID, mine *turn) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if mine.Users--; mine.Users == 0 {
		delete(t.Of, business)
	}
}
