package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Notices are problems that affect the requests and events of businesses, in addition to failing webhooks and jobs.
type Notices struct {
	Unrouted       []UnroutedEvents
	Throttled      []Throttled
	Revoked        []Key // disabled, but used since
	Overdue        []OverdueOrders
	Silent         []SilentStores
	RejectedOrders []RejectedOrders
	Menus          []RejectedMenus
	Closed         []ClosedStores
	Calls          []FailedCalls
	Unnotified     []UnnotifiedOrders
	PartlyFailed   []PartlyFailedJobs
}

// FailedCalls are recent calls to a platform of a business that failed.
type FailedCalls struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Kinds    []CallCount // the most frequent first
	Orders   bool        // they include orders of the hub
	At       time.Time   // of the last
	Message  string      // of the last
	Status   int         // of the response that the message is about; 0: none
}

// CallCount is the number of calls of a kind (relay.Kind), at most MaxCount.
type CallCount struct {
	Kind  string
	Count int
}

// UnnotifiedOrders is the number of a business's orders that are still Placed and had no active webhook on arrival.
type UnnotifiedOrders struct {
	Business    core.BusinessID
	Count       int       // at most MaxCount
	First, Last time.Time // when they were placed
	HasWebhook  bool      // a webhook is active for them now
}

// PartlyFailedJobs is the number of a business's jobs that completed, but with at least half of their objects failed.
type PartlyFailedJobs struct {
	Business  core.BusinessID
	Count     int
	Reference core.ID // of the last
	Kind      core.JobKind
	Subject   string
	Failed    int // failed objects of the last
	Total     int
}

// ClosedStores is the number of a business's stores that are closed on platforms that list them.
type ClosedStores struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that was closed last
	Store    string
	Platform string // on which it was closed
	Actor    string // who closed it
	Since    time.Time
}

// RejectedMenus is the number of a business's menus that a platform rejected.
type RejectedMenus struct {
	Business core.BusinessID
	Platform string
	ServedBy string
	Count    int    // of stores
	Message  string // of the latest
}

// OverdueOrders is the number of a business's orders whose acknowledgement is overdue.
type OverdueOrders struct {
	Business core.BusinessID
	Count    int
	Since    time.Time // when the oldest was placed
}

// SilentStores is the number of a business's open stores with a silent POS.
type SilentStores struct {
	Business core.BusinessID
	Count    int
	StoreID  int64 // of the one that has been silent longest
	Store    string
	Since    time.Time
}

// UnroutedEvents is the number of unrouted events of a type that still has no webhook. Orders are reported as
// UnnotifiedOrders.
type UnroutedEvents struct {
	Business  core.BusinessID
	EventType core.EventType
	Count     int // of the last day or so
	At        time.Time
	Webhook   int64 // of the type, the one paused or disabled last; 0: there is none
	// DisabledReason is why the hub disabled the webhook; "" if it did not.
	DisabledReason string
}

// Throttled is a throttle that blocks the business, or did recently.
type Throttled struct {
	Business core.BusinessID
	Name     string // such as STORES
	Until    time.Time
}
