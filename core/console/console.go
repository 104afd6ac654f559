// Package console defines the data that the console's pages show, the metrics that are counted for them, and the
// grouping of errors by cause. It reads no data itself.
package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// MaxCount bounds counts that are shown.
const MaxCount = 10000

// Endpoint is a webhook with its health.
type Endpoint struct {
	Business         core.BusinessID
	ID               int64
	EventType        core.EventType
	URL              string
	Active           bool
	DisabledReason   string    // why the hub disabled it
	DisabledAt       time.Time // since when it is not active; zero: it is active
	Units            string    // minutes or seconds, of the retry schedule
	EventHeader      string    // a further header with the event type; "": none
	EventValue       string    // of its value: name or number
	HeaderNames      []string  // of the headers that the subscriber chose, sorted
	HeadersChangedAt time.Time // when they last changed; zero: never
	CreatedAt        time.Time
	OldSecretUntil   time.Time     // until when the previous secret also signs; past or zero: it does not
	CircuitOpenedAt  time.Time     // when its circuit opened; zero: it is closed
	ProbeInterval    time.Duration // between two probes
	LastDay          Count         // of the last 24 hours
	Health           Health
	Held             int // held deliveries (webhook.Held); at most MaxCount
	Waiting          int // pending deliveries; at most MaxCount
	FailedDeliveries int // that failed in the last 24 hours; at most MaxCount
	// last success of another webhook of the business on the same host and port; zero: never
	ServerSucceededAt time.Time
	OthersActive      bool // another active webhook receives the same events
}

// Health is the health of a webhook by its latest attempts.
type Health struct {
	SucceededAt  time.Time // the latest success; zero: none
	FailedAt     time.Time // the latest failure
	FailingSince time.Time // the first failure since the latest success; zero if there is none
	Status       int       // of the latest failure; 0 without a response
	Class        string    // webhook.ErrorClass of the latest failure
	Error        string    // of the latest failure, in plain words
	Delivery     core.ID   // the delivery of the latest failure
}

// Count is the number of delivery attempts in a time span.
type Count struct {
	At        time.Time // the start of the span
	Succeeded int64
	Failed    int64
	TotalTime time.Duration // total duration
	Slowest   time.Duration
}

// Attempts returns the number of attempts.
func (c Count) Attempts() int64 { return c.Succeeded + c.Failed }

// Average returns the mean duration of an attempt.
func (c Count) Average() time.Duration {
	if c.Attempts() == 0 {
		return 0
	}
	return c.TotalTime / time.Duration(c.Attempts())
}

// SuccessRate returns the share of successful attempts in percent, with one decimal, rounded down. It is 100
// only if none failed.
func (c Count) SuccessRate() float64 {
	if c.Attempts() == 0 {
		return 100
	}
	return float64(c.Succeeded*1000/c.Attempts()) / 10
}

// Add adds the attempts of another span.
func (c *Count) Add(other Count) {
	c.Succeeded += other.Succeeded
	c.Failed += other.Failed
	c.TotalTime += other.TotalTime
	c.Slowest = max(c.Slowest, other.Slowest)
}

// Figures are the numbers of pending and failed work of some businesses.
type Figures struct {
	Waiting          int // pending deliveries; at most MaxCount
	Held             int // held deliveries (webhook.Held); at most MaxCount
	FailedDeliveries int // that failed in the last 24 hours; at most MaxCount
	OpenProblems     int // unresolved problems with failed deliveries; at most MaxCount
	Undelivered      int // failed deliveries of these, of any age; at most MaxCount
	FailedJobs       int // of the last 24 hours
	OpenJobs         int
}

// Job is a job in a list.
type Job struct {
	Business   core.BusinessID
	Reference  core.ID
	Kind       core.JobKind
	Subject    string
	Actor      string // such as key:pos
	State      string // job.State
	DryRun     bool
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	Attempts   int
	Done       int
	Total      int
	Error      string
	Result     []byte // JSON, nil before the end
}

// JobDetail is a job with its request and its callback.
type JobDetail struct {
	Job
	RequestID   string
	CallbackURL string
	RepeatOf    core.ID   // the job whose request this one repeats; zero: none
	Repeats     []core.ID // jobs that repeat this one's request, newest first
	Event       core.ID   // the callback; zero: none
	Request     []byte    // the body as it was received
	Outcome     []byte    // the body of the callback; nil: none, or expired
}

// WeekDays is the number of days of a FailureWeek.
const WeekDays = 7

// FailureWeek is how often objects of a business's jobs failed in the last seven days.
type FailureWeek struct {
	Days   int // on which any did
	Jobs   int // with failed objects; at most MaxCount of a day
	Latest core.ID
}

// WithFailures is a state in a JobFilter for jobs that completed with failed objects.
const WithFailures = "refused"

// WithWarnings is a state in a JobFilter for jobs that completed with warnings, but without failed objects.
const WithWarnings = "warned"

// JobFilter selects jobs. A zero field matches all.
type JobFilter struct {
	Kind, State, Subject string
	From, To             time.Time // created; From is inclusive, To is exclusive
	Oldest               bool      // the oldest first
	Before               core.ID   // after this one in the order
	Limit                int
}

// After returns the filter of the jobs after one.
func (f JobFilter) After(last Job) JobFilter {
	f.Before = last.Reference
	return f
}

// Key is an API key in the console.
type Key struct {
	Business   core.BusinessID
	ID         int64
	Username   string
	Prefix     string
	Scope      core.Scope
	Platform   string
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it is enabled
	UsedAt     time.Time // when it was last used, to about a minute; also set for a disabled one
}

// Entry is an entry of the audit trail.
type Entry struct {
	Business core.BusinessID // 0: the hub itself
	ID       core.ID
	At       time.Time
	Actor    string
	Action   string
	Object   string
	Detail   []byte // JSON: why, before, after and other details
}

// EntryFilter selects entries of the audit trail.
type EntryFilter struct {
	Actor, Action, Object string
	Objects               []string  // any of these
	From, To              time.Time // From is inclusive, To is exclusive
	Oldest                bool      // the oldest first
	Before                core.ID   // after this one in the order
	Limit                 int
}

// After returns the filter of the entries after one.
func (f EntryFilter) After(last Entry) EntryFilter {
	f.Before = last.ID
	return f
}

// Store is a store in a list.
type Store struct {
	ID       int64
	RefID    string
	Name     string
	City     string
	Active   bool
	Ordering bool
	Hidden   bool
	Excluded []string
	Included []string
	Status   StoreStatus
	ClosedOn []string // platforms, whether they list it or not
	Updated  time.Time
}

// StoreStatus is the status of a store for orders, most severe first.
type StoreStatus string

const (
	StoreInactive StoreStatus = "inactive"
	StoreUnlisted StoreStatus = "unlisted" // on no platform
	StoreNoOrders StoreStatus = "no_orders"
	StoreNoItems  StoreStatus = "no_items" // none that customers can order on a platform that lists it
	StoreClosed   StoreStatus = "closed"   // on platforms that list it
	StoreHidden   StoreStatus = "hidden"
	StoreShut     StoreStatus = "shut" // by its opening hours
	StoreOpen     StoreStatus = "open"
)

// StoreFilter selects stores. A zero field matches all.
type StoreFilter struct {
	Text   string // part of the name, the city or the ref_id
	Status StoreStatus
	Local  time.Time // the current time in the zone of the business, for opening hours
	After  string    // ref_id
	Limit  int
}

// Item is an item of the master catalogue in a list.
type Item struct {
	ID               int64
	RefID            string
	Title            string
	Price            string
	Active           bool
	Unlisted         bool // on all platforms, by its own list
	CategoryInactive bool // a category of it, or the parent of one
	Findings         int  // rules of platforms that it breaks
	Updated          time.Time
}

// ItemProblem selects items with a problem.
type ItemProblem string

// The problems of items.
const (
	ItemBreaksRule ItemProblem = "rule"     // of a platform
	ItemLacking    ItemProblem = "lacking"  // a platform accepted a menu without it
	ItemInactive   ItemProblem = "inactive" // or a category of it is
)

// ItemFilter selects items. A zero field matches all.
type ItemFilter struct {
	Text     string // part of the title or the ref_id
	Problem  ItemProblem
	Platform string // of the problem; without one, or for inactive items, which lists the item
	Store    string // ref_id, of a menu that lacks the item
	After    string // ref_id
	Limit    int
}

// ItemDetail is an item, its catalogue record and the findings of the platforms.
type ItemDetail struct {
	Item
	Record     []byte // JSON, the master record
	Categories []ItemCategory
	Platforms  []string // that list it; nil: all
	Findings   []ItemFinding
	Rejections []ItemRejection
}

// ItemRejection is a platform's error for an item in an accepted menu: the platform does not show the item.
type ItemRejection struct {
	Platform, Message string
	Stores            int // the number of stores whose menus contain it
}

// ItemFinding is a platform's rule that an item or a store breaks, so it is not listed there.
type ItemFinding struct {
	Platform, Rule, Message string
	Warning                 bool   // the platform lists it
	Entity, RefID           string // what the finding is about, if the item belongs to that; "": the item itself
}

// ItemCategory is a category of an item.
type ItemCategory struct {
	RefID, Name    string
	Active         bool            // it and its parent
	InactiveParent string          // its parent, if that is inactive
	SaleHours      []core.DayHours // by the category timings; nil: always
}

// ItemStore is an item at a store.
type ItemStore struct {
	Store      GridStore
	Sold       bool   // the store sells it
	UnmetGroup string // an option group of it that requires more options than can be ordered there
	Values     []byte // JSON, the store's values
}

// HitsShown bounds the search results of a kind.
const HitsShown = 10

// Hit is a search result.
type Hit struct {
	Business core.BusinessID
	Kind     string // business, job, delivery, order, webhook, store, item, key
	ID       string // for its page
	Title    string
	Detail   string
}
