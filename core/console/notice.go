package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Notices are what keeps requests and events of businesses from coming through,
// besides webhooks and jobs that fail.
type Notices struct {
	Unheard   []Unheard
	Throttled []Throttled
	Revoked   []Key // revoked, and used since
	Waiting   []Waiting
	Silent    []Silent
	NotTaken  []NotTaken
	Menus     []RefusedMenus
	Closed    []Closed
	Calls     []RefusedCalls
	Untold    []Untold
	Refused   []RefusedJobs
}

// RefusedCalls is what a platform of a business was to be told of late, and did not take.
type RefusedCalls struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Kinds    []CallCount // the most first
	Orders   bool        // orders of the hub are among them
	At       time.Time   // of the last
	Message  string      // of the last
}

// CallCount is how many calls of a kind (relay.Kind) there were; at most Many.
type CallCount struct {
	Kind  string
	Count int
}

// Untold is how many orders of a business that are still Placed came while no webhook
// was there for them.
type Untold struct {
	Business    core.BusinessID
	Count       int       // at most Many
	First, Last time.Time // when they were placed
	Heard       bool      // a webhook is there for them now
}

// RefusedJobs is how many requests of a business were carried out, but not for half of
// their objects or more.
type RefusedJobs struct {
	Business  core.BusinessID
	Count     int
	Reference core.ID // of the last
	Kind      core.JobKind
	Subject   string
	Refused   int // objects of the last
	Total     int
}

// Closed is how many stores of a business are closed on platforms on which they are listed.
type Closed struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that was closed last
	Store    string
	Platform string // on which that was
	Actor    string // who closed it
	Since    time.Time
}

// RefusedMenus is how many menus of a business a platform did not take.
type RefusedMenus struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Count    int    // stores
	Message  string // of the latest
}

// Waiting is how many orders of a business wait too long for their acknowledgement.
type Waiting struct {
	Business core.BusinessID
	Count    int
	Since    time.Time // when the longest waiting one was placed
}

// Silent is how many open stores of a business have a POS that says nothing.
type Silent struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that is silent the longest
	Store    string
	Since    time.Time
}

// Unheard is events of a type for which there was no receiver, and is none now.
// Orders are told of as Untold.
type Unheard struct {
	Business  core.BusinessID
	EventType core.EventType
	Count     int // of the last day or so
	At        time.Time
	Webhook   int64 // one of the type that is switched off; 0: none is subscribed
}

// Throttled is a throttle that blocks the business, or did lately.
type Throttled struct {
	Business core.BusinessID
	Name     string // such as STORES
	Until    time.Time
}
