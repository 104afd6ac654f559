package menus

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// The bounds of a whole menu in bytes of its rows. Decoded, they take several times as much. Large menus are read
// one at a time.
const (
	largeMenu = 16 << 20
	maxMenu   = 128 << 20
)

var largeMenus = semaphore.NewWeighted(1)

// menuBound bounds the memory that the rows of one menu take.
type menuBound struct {
	bytes int
	alone bool // no other large menu is read
	err   error
}

// admit counts a row, and reports whether it may be kept. It may wait for another large menu.
func (b *menuBound) admit(ctx context.Context, row postgres.CopyRow) bool {
	for _, column := range row {
		b.bytes += len(column)
	}
	switch {
	case b.err != nil:
	case b.bytes > maxMenu:
		b.err = &core.Error{Code: core.Conflict,
			Message: fmt.Sprintf("the menu is larger than %d MiB: it cannot be read as a whole", maxMenu>>20)}
	case b.bytes > largeMenu && !b.alone:
		b.err = largeMenus.Acquire(ctx, 1)
		b.alone = b.err == nil
	}
	return b.err == nil
}

// release lets another large menu be read.
func (b *menuBound) release() {
	if b.alone {
		largeMenus.Release(1)
	}
}
