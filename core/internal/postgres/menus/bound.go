package menus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// The bounds of a whole menu in bytes of its rows. Decoded, they take several times as much. A menu above largeMenu is
// kept and used while no other large one is. A menu above maxMenu is never kept.
const (
	largeMenu = 16 << 20
	maxMenu   = 128 << 20
)

// largeMenuWait bounds the wait for another large menu.
const largeMenuWait = 10 * time.Second

// errLarge reports that a menu turned out to be large.
var errLarge = errors.New("the menu is large")

// largeMenus lets one large menu of a database be in memory at a time. It knows the businesses whose menu was large
// when it was last read.
type largeMenus struct {
	reading *semaphore.Weighted
	known   sync.Map // their ids
}

// largeMenusOf returns the large menus of a database. A replica has one database; others may have the same ids.
func largeMenusOf(db *postgres.DB) *largeMenus {
	return postgres.StateOf(db, func(*postgres.DB) *largeMenus {
		return &largeMenus{reading: semaphore.NewWeighted(1)}
	})
}

// do reads the menu of a business. The function must return errLarge if the menu has more than maxBytes. Before a
// large one is kept as a whole, do waits for another large one, outside any transaction. It returns Unavailable if that
// takes too long.
func (l *largeMenus) do(ctx context.Context, business core.BusinessID, read func(maxBytes int) error) error {
	if _, known := l.known.Load(business); !known {
		if err := read(largeMenu); !errors.Is(err, errLarge) {
			return err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, largeMenuWait)
	defer cancel()
	if err := l.reading.Acquire(waiting, 1); err != nil {
		return &core.Error{Code: core.Unavailable, Message: "other large menus are being read: resend the request",
			RetryAfter: time.Second, Cause: err}
	}
	defer l.reading.Release(1)
	return read(maxMenu)
}

// learn records the size of a menu, or of its part that was read before an error.
func (l *largeMenus) learn(business core.BusinessID, bytes int, complete bool) {
	switch {
	case bytes > largeMenu:
		l.known.Store(business, true)
	case complete:
		l.known.Delete(business)
	}
}

// menuBound counts the bytes of the rows of one menu.
type menuBound struct{ bytes, max int }

// admit counts a row, and reports whether it may be kept. This bounds memory only: the database still sends the rest of
// the result, whose rows are dropped.
func (b *menuBound) admit(row postgres.CopyRow) bool {
	for _, column := range row {
		b.bytes += len(column)
	}
	return b.bytes <= b.max
}

// err returns the error of a menu above the bound. Above maxMenu, another attempt cannot correct it.
func (b *menuBound) err() error {
	switch {
	case b.bytes <= b.max:
		return nil
	case b.max < maxMenu:
		return errLarge
	}
	return core.FinalError{Cause: &core.Error{Code: core.Invalid,
		Message: fmt.Sprintf("the menu is larger than %d MiB: it cannot be read as a whole", maxMenu>>20)}}
}
