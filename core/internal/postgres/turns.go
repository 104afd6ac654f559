package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// turns are the lines of those who want to change the menu of a business, one for
// each business. They wait here, and not in connections of the pool: a menu job
// holds the menu for as long as it takes.
type turns struct {
	mu sync.Mutex
	of map[core.BusinessID]*turn
}

type turn struct {
	taken chan struct{}
	users int // who has it, and who waits
}

// turnsWaiting is how many at most may be in the line of a business.
const turnsWaiting = 256

// errMenuHeld is the error of a transaction that is to be tried again.
var errMenuHeld = errors.New("the menu is being changed")

// errMenuBusy tells that nothing was changed.
var errMenuBusy = &core.Error{Code: core.Unavailable, Message: "the menu of the business is being changed by others; send the request again", RetryAfter: time.Second}

// do changes the menu of a business when it is free, by a transaction that asks for
// it with tryMenu. It is Unavailable where it was not before the context ended.
func (t *turns) do(ctx context.Context, business core.BusinessID, change func() error) error {
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
		if err := change(); !errors.Is(err, errMenuHeld) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errMenuBusy
		}
	}
}

func (t *turns) join(business core.BusinessID) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.of[business]
	if mine == nil {
		if t.of == nil {
			t.of = map[core.BusinessID]*turn{}
		}
		mine = &turn{taken: make(chan struct{}, 1)}
		t.of[business] = mine
	}
	if mine.users == turnsWaiting {
		return nil, errMenuBusy
	}
	mine.users++
	return mine, nil
}

func (t *turns) leave(business core.BusinessID, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.of, business)
	}
}

// tryMenu is lockMenu for those who do not wait: errMenuHeld tells that others have it.
func tryMenu(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	var free bool
	if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(`+menuLock+`)`, int64(business)).Scan(&free); err != nil {
		return fmt.Errorf("locking the menu: %w", err)
	}
	if !free {
		return errMenuHeld
	}
	return nil
}
