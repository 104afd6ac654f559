// Package publish brings the menus of stores to the aggregators on which they are
// listed: once for a burst of changes, the newest content, one at a time for each
// store and platform, tried again like deliveries. What came of it is kept and
// told (spec, Events: hub_menu_publish).
package publish

import (
	"context"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/servery-hub/servery/core"
)

// Work is a store and platform that is leased to this replica.
type Work struct {
	Business  core.BusinessID
	StoreID   int64
	StoreRef  string
	Platform  string
	Plugin    string // that serves the platform; core.ServedByOwn: none does any more
	Endpoint  int64  // what fairness goes by: one for each platform of a business
	Version   int64  // of the changes, as it was claimed
	Attempts  int    // at this content, finished so far
	CallID    core.ID
	Reference core.ID   // of the latest change
	Waiting   []core.ID // of the requests that led to it and were not told its outcome yet
	Asked     []core.ID // of those who asked for it: each is answered, and it is sent even unchanged
	Digest    []byte    // of what the platform is known to hold; nil: not known
	LeasedTo  time.Time
	Trace     core.Trace // of the latest change
}

// Problem is an object that is not on the platform as it should be, and why.
type Problem struct {
	Entity  string `json:"entity"` // menu, store, category, item, option_group, option, tax or charge
	RefID   string `json:"ref_id"` // empty where the whole menu is meant
	Code    string `json:"code"`   // which rule, for programs
	Message string `json:"message"`
}

// Rendering is a store's menu in the aggregator's own format.
type Rendering struct {
	Unlisted string    // why the store is not listed on the platform; "" where it is
	Skip     string    // why nothing is to be sent; "" where something is
	Content  []string  // all that would be sent, and where to; none of a store that is unlisted without a word
	Waiting  []core.ID // of the requests whose changes are in it, as far as their outcome was not told
	Outlet   string    // by which the platform will know the store once it has taken the menu
	LeftOut  []Problem // by the rules of the platform, or for want of a place in its format
	Note     string    // for people, kept with the outcome
	Send     func(ctx context.Context) Sent
}

// Sent is what came of sending.
type Sent struct {
	State    State // Published, Failed, or Waiting: it is to be tried again
	Message  string
	Problems []Problem // of the aggregator
	RetryAt  time.Time // of Waiting
	SparedTo time.Time // until then the aggregator, asked too often, wants no more menus; zero: it does not say
	Answered bool      // whatever the answer was, but for 429
}

// State is where a publication stands.
type State string

// The states of a publication.
const (
	Waiting   State = "waiting"   // nothing came of it yet
	Published State = "published" // the platform has taken the menu
	Failed    State = "failed"    // the platform refused what it was told, or could not be reached
	Unlisted  State = "unlisted"  // the store is not listed on the platform, which was told so where its plugin can
	Skipped   State = "skipped"   // the platform is not told of menus

	left State = "left" // to another replica; never recorded
)

// ParseState reads the name of a state.
func ParseState(name string) (State, bool) {
	switch s := State(name); s {
	case Waiting, Published, Failed, Unlisted, Skipped:
		return s, true
	}
	return "", false
}

// Result is what came of claimed work.
type Result struct {
	Work
	State     State
	Unchanged bool // of Published: the platform held it already, nothing was sent
	Message   string
	LeftOut   []Problem
	Problems  []Problem
	Digest    []byte    // of what the platform is known to hold now
	Outlet    string    // by which the platform knows the store once it has taken the menu
	RetryAt   time.Time // of Waiting
	Untried   bool      // of Waiting: it does not count as an attempt
	SparedTo  time.Time // until then the aggregator wants no more menus
	At        time.Time
}

// Renderer renders menus. An Invalid error says that the menu will never be
// rendered as it is, NotFound that the platform's plugin renders none,
// core.Postponed that another replica has the plugin: the work is left to it, and
// until then none of the platform is taken. After a core.Error of Internal, a
// failure at this very menu, it is tried again a few times; with any other the work waits.
type Renderer interface {
	Render(ctx context.Context, work Work) (Rendering, error)
}

// Queue is where work waits; replicas share it.
type Queue interface {
	// Claim leases due work to the owner, none of it for who is busy and for each
	// endpoint at most share, and tells when to ask again at the latest; the zero time:
	// nothing waits.
	Claim(ctx context.Context, owner core.ID, limit, share int, busy core.Busy, until time.Time) (work []Work, next time.Time, err error)
	// Finish records a result with the events that tell it, in one transaction; it
	// does nothing where the lease is not the owner's any more.
	Finish(ctx context.Context, owner core.ID, result Result, events []core.Event) error
	// Release gives leased work back, due as it was.
	Release(ctx context.Context, owner core.ID, work Work) error
}

// Publication is what is kept of a store and platform.
type Publication struct {
	StoreRef    string
	Platform    string
	State       State
	Message     string
	Errors      []Problem
	Reference   core.ID   // the change of which the outcome is; zero before the first
	PublishedAt time.Time // the latest time that the platform took the menu; zero: never
	SettledAt   time.Time // when the state was told last
	DueAt       time.Time // of what is on the way; zero: nothing
	Note        string    // why it still waits
	Attempts    int       // at what is on the way
}

// Filter narrows a list; empty fields narrow nothing.
type Filter struct {
	StoreRef string
	Platform string
	State    State
	After    Cursor
	Limit    int
}

// Cursor is a place in the list, which is sorted by store and platform.
type Cursor struct{ StoreRef, Platform string }

// String writes a cursor as text without a meaning to others.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.StoreRef + "\x00" + c.Platform)) // neither holds a NUL
}

// ParseCursor reads what String writes.
func ParseCursor(text string) (c Cursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	c.StoreRef, c.Platform, ok = strings.Cut(string(raw), "\x00")
	return c, ok && err == nil && utf8.Valid(raw) && !strings.Contains(c.Platform, "\x00")
}
