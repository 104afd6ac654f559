package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Notices are problems that affect the requests and events of businesses, in addition to failing webhooks and jobs.
type Notices struct {
	Unheard   []Unheard
	Throttled []Throttled
	Revoked   []Key // disabled, but used since
	Waiting   []Waiting
	Silent    []Silent
	NotTaken  []NotTaken
	Menus     []RefusedMenus
	Closed    []Closed
	Calls     []RefusedCalls
	Untold    []Untold
	Refused   []RefusedJobs
}

// RefusedCalls are recent calls to a platform of a business that failed.
type RefusedCalls struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Kinds    []CallCount // the most frequent first
	Orders   bool        // they include orders of the hub
	At       time.Time   // of the last
	Message  string      // of the last
}

// CallCount is the number of calls of a kind (relay.Kind), at most Many.
type CallCount struct {
	Kind  string
	Count int
}

// Untold is the number of a business's orders that are still Placed and had no active webhook when they arrived.
type Untold struct {
	Business    core.BusinessID
	Count       int       // at most Many
	First, Last time.Time // when they were placed
	Heard       bool      // a webhook is active for them now
}

// RefusedJobs is the number of a business's jobs that completed, but with at least half of their objects failed.
type RefusedJobs struct {
	Business  core.BusinessID
	Count     int
	Reference core.ID // of the last
	Kind      core.JobKind
	Subject   string
	Refused   int // failed objects of the last
	Total     int
}

// Closed is the number of a business's stores that are closed on platforms that list them.
type Closed struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that was closed last
	Store    string
	Platform string // on which it was closed
	Actor    string // who closed it
	Since    time.Time
}

// RefusedMenus is the number of a business's menus that a platform rejected.
type RefusedMenus struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Count    int    // of stores
	Message  string // of the latest
}

// Waiting is the number of a business's orders whose acknowledgement is overdue.
type Waiting struct {
	Business core.BusinessID
	Count    int
	Since    time.Time // when the oldest was placed
}

// Silent is the number of a business's open stores with a silent POS.
type Silent struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that has been silent longest
	Store    string
	Since    time.Time
}

// Unheard is the number of unrouted events of a type that still has no webhook. Orders are reported as Untold.
type Unheard struct {
	Business  core.BusinessID
	EventType core.EventType
	Count     int // of the last day or so
	At        time.Time
	Webhook   int64 // a disabled one of the type; 0: there is none
}

// Throttled is a throttle that blocks the business, or did recently.
type Throttled struct {
	Business core.BusinessID
	Name     string // such as STORES
	Until    time.Time
}
