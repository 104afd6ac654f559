package console

import (
	"fmt"

	"github.com/servery-hub/servery/core"
)

// GridStore is a store with everything that determines whether it takes orders on a platform.
type GridStore struct {
	ID       int64
	RefID    string
	Name     string
	Active   bool
	Ordering bool
	Hidden   bool
	Excluded []string
	Included []string
	Timings  []core.DayHours
	ClosedOn []byte // JSON: the closed_on of the store's reading; empty: nowhere
	Rank     int    // 0: takes no orders somewhere, 1: needs attention, 2: healthy
}

// Publishing is the state of the menus that a request changed, at one platform.
type Publishing struct {
	Platform string
	State    string // publish.State
	Stores   int
	Message  string // of one of them: the reason why it failed or waits
}

// GridCursor is a position in the grid, problems first: after the store of that rank and ref_id.
type GridCursor struct {
	Rank  int
	RefID string
}

// Cursor returns the cursor of the store in the grid.
func (s GridStore) Cursor() GridCursor { return GridCursor{s.Rank, s.RefID} }

// String returns the form that ParseGridCursor parses.
func (p GridCursor) String() string { return fmt.Sprintf("%d-%s", p.Rank, p.RefID) }

// ParseGridCursor parses the form of String. Any other text is the start.
func ParseGridCursor(s string) GridCursor {
	if len(s) < 2 || s[0] < '0' || s[0] > '2' || s[1] != '-' {
		return GridCursor{}
	}
	return GridCursor{int(s[0] - '0'), s[2:]}
}
