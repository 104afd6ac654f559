package console

import (
	"fmt"

	"github.com/servery-hub/servery/core"
)

// GridStore is a store with all of its own that decides whether it takes orders on a
// platform.
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
	Rank     int    // 0: takes no orders somewhere, 1: something is to be looked at, 2: well
}

// Publishing is how it stands at a platform with the menus that a request changed.
type Publishing struct {
	Platform string
	State    string // publish.State
	Stores   int
	Message  string // of one of them: why it was refused, or waits
}

// GridPlace is a place in the grid, problems first: after the store of that rank and ref_id.
type GridPlace struct {
	Rank  int
	RefID string
}

// Place is where the store stands in the grid.
func (s GridStore) Place() GridPlace { return GridPlace{s.Rank, s.RefID} }

// String is the form that ParseGridPlace reads.
func (p GridPlace) String() string { return fmt.Sprintf("%d-%s", p.Rank, p.RefID) }

// ParseGridPlace reads the form of String; anything else is the beginning.
func ParseGridPlace(s string) GridPlace {
	if len(s) < 2 || s[0] < '0' || s[0] > '2' || s[1] != '-' {
		return GridPlace{}
	}
	return GridPlace{int(s[0] - '0'), s[2:]}
}
