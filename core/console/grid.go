package console

import (
	"time"

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
	Hours    core.OpeningHours
	ClosedOn []byte // JSON: the closed_on of the store's reading; empty: nowhere
	Reported []byte // JSON: the platform_status of the store's reading; empty: none
	// Of a page of the grid:
	Reasons map[string]PlaceReason // by platform
	OpensAt time.Time              // the next opening by hours or timer; zero: open, or unknown
	Cursor  GridCursor
}

// Publishing is the state of the menus that a request changed, at one platform.
type Publishing struct {
	Platform string
	State    string // publish.State
	Stores   int
	Message  string // of one of them: the reason why it failed or waits
	// The platform has accepted one of them at Since, and must report its outcome by Until; zero: none.
	Since, Until time.Time
}
