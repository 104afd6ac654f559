// Package console holds what support staff ask the hub: the shapes of what the
// console's pages read, the figures that are counted for them, and how errors
// of many objects are told as a few causes. It reads nothing itself.
package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Many is where counting stops: a page that says so helps as much as the number.
const Many = 10000

// Endpoint is a webhook with how it fares.
type Endpoint struct {
	Business       core.BusinessID
	ID             int64
	EventType      core.EventType
	URL            string
	Active         bool
	DisabledReason string // why the hub switched it off
	Units          string // minutes or seconds, of the retry schedule
	CreatedAt      time.Time
	OldSecretUntil time.Time     // until when the secret before the present one signs too; past or zero: it does not
	ProbedSince    time.Time     // it fails, and single attempts probe it while its deliveries are held; zero: it is not so
	Pause          time.Duration // between two probes
	Day            Count         // of the last 24 hours
	Health         Health
	Held           int       // deliveries that are held (webhook.Held); at most Many
	Waiting        int       // deliveries that are on their way or wait for their next attempt; at most Many
	GivenUp        int       // deliveries of the last 24 hours; at most Many
	ServerAnswered time.Time // when another webhook of the business with the same host and port was accepted last; zero: never
}

// Health is how a webhook fares by its latest attempts.
type Health struct {
	AcceptedAt   time.Time // the latest attempt that was accepted; zero: none
	RefusedAt    time.Time // the latest that was not
	FailingSince time.Time // the first refusal since the latest acceptance; zero while all is well
	Status       int       // of the latest refusal; 0 without an answer
	Class        string    // webhook.ErrorClass of the latest refusal
	Error        string    // of the latest refusal, in plain words
	Delivery     core.ID   // whose attempt that was
}

// Count is delivery attempts of some span of time.
type Count struct {
	At       time.Time // the beginning of the span
	Accepted int64
	Refused  int64
	Took     time.Duration // of all together
	Slowest  time.Duration
}

// All is how many attempts there were.
func (c Count) All() int64 { return c.Accepted + c.Refused }

// Average is how long an attempt took.
func (c Count) Average() time.Duration {
	if c.All() == 0 {
		return 0
	}
	return c.Took / time.Duration(c.All())
}

// Rate is the accepted share, in percent with one digit, rounded down: 100 is
// said only where none was refused.
func (c Count) Rate() float64 {
	if c.All() == 0 {
		return 100
	}
	return float64(c.Accepted*1000/c.All()) / 10
}

// Add adds another span's attempts.
func (c *Count) Add(other Count) {
	c.Accepted += other.Accepted
	c.Refused += other.Refused
	c.Took += other.Took
	c.Slowest = max(c.Slowest, other.Slowest)
}

// Figures are what waits and what failed in some businesses.
type Figures struct {
	Waiting    int // deliveries on their way or waiting for a retry; at most Many
	Held       int // deliveries that are held (webhook.Held); at most Many
	GivenUp    int // deliveries of the last 24 hours; at most Many
	FailedJobs int // of the last 24 hours
	OpenJobs   int
}

// Job is a piece of accepted work as a list shows it.
type Job struct {
	Business   core.BusinessID
	Reference  core.ID
	Kind       core.JobKind
	Subject    string
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

// JobDetail is a job with what came in and what went out.
type JobDetail struct {
	Job
	RequestID   string
	CallbackURL string
	AgainOf     core.ID   // the job whose request this one runs again; zero: none
	Runs        []core.ID // jobs that run this one's request again, the newest first
	Event       core.ID   // the callback; zero: none
	Request     []byte    // the body as it came
	Outcome     []byte    // the body of the callback; nil: none, or no longer kept
}

// WithRefusals stands among the states of a JobFilter for jobs that were carried out,
// but not for all of their objects.
const WithRefusals = "refused"

// JobFilter chooses jobs; a zero field chooses all.
type JobFilter struct {
	Kind, State, Subject string
	Before               core.ID
	Limit                int
}

// Key is an API key as people see it.
type Key struct {
	Business   core.BusinessID
	ID         int64
	Username   string
	Prefix     string
	Scope      core.Scope
	Platform   string
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it works
	UsedAt     time.Time // when it was last shown, to about a minute; of a disabled one too
}

// Entry is a line of the audit trail.
type Entry struct {
	Business core.BusinessID // 0: of the hub itself
	ID       core.ID
	At       time.Time
	Actor    string
	Action   string
	Object   string
	Detail   []byte // JSON: why, before, after and what else belongs to it
}

// EntryFilter chooses lines of the audit trail.
type EntryFilter struct {
	Actor, Action, Object string
	Objects               []string // any of these
	Before                core.ID
	Limit                 int
}

// Store is a store as a list shows it.
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
	Standing Standing
	ClosedOn []string // platforms, whether it is listed there or not
	Updated  time.Time
}

// Standing is what a store itself is like for orders, the gravest first.
type Standing string

// The standings of stores.
const (
	StoreInactive Standing = "inactive"
	StoreUnlisted Standing = "unlisted" // on no platform
	StoreNoOrders Standing = "no_orders"
	StoreClosed   Standing = "closed" // on platforms on which it is listed
	StoreHidden   Standing = "hidden"
	StoreShut     Standing = "shut" // by its opening hours
	StoreOpen     Standing = "open"
	// MenuRefused stands among them in a filter for stores of which a platform did not
	// take the menu.
	MenuRefused Standing = "menu_refused"
)

// StoreFilter chooses stores; a zero field chooses all.
type StoreFilter struct {
	Text     string // part of the name, the city or the ref_id
	Standing Standing
	Local    time.Time // the present moment in the zone of the business: what opening hours are held against
	After    string    // ref_id
	Limit    int
}

// Item is an item of the master catalogue as a list shows it.
type Item struct {
	ID        int64
	RefID     string
	Title     string
	Price     string
	Active    bool
	Available bool
	Updated   time.Time
}

// ItemFilter chooses items; a zero field chooses all.
type ItemFilter struct {
	Text  string // part of the title or the ref_id
	After string // ref_id
	Limit int
}

// ItemDetail is an item with everything that decides whether a customer sees it.
type ItemDetail struct {
	Item
	Record     []byte // JSON, the master record
	Categories []ItemCategory
	Places     []ItemPlace
	MorePlaces bool     // there are more than these
	Platforms  []string // on which it is listed; nil: on all
	Findings   []ItemFinding
	Refusals   []ItemRefusal
}

// ItemRefusal is what a platform has against an item in the menus that it took: it
// is not shown there.
type ItemRefusal struct {
	Platform, Message string
	Stores            int // whose menus are meant
}

// ItemFinding is what a rule of a platform has against an item: it is not listed there.
type ItemFinding struct{ Platform, Rule, Message string }

// ItemCategory is a category of an item.
type ItemCategory struct {
	RefID, Name string
	Active      bool            // it and its parent
	Under       string          // its parent, where that is inactive
	OnSale      []core.DayHours // when, by the category timings; nil: always
}

// ItemPlace is an item at a store.
type ItemPlace struct {
	Store     GridStore // without its rank
	Sold      bool      // the store has it
	Price     string
	Available bool
	Stock     int64  // -1: not counted
	Unmet     string // an option group of it that demands more options than can be ordered there
	Values    []byte // JSON, the store's values
}

// HitsShown is how many hits of a kind are shown.
const HitsShown = 10

// Hit is something that a search found.
type Hit struct {
	Business core.BusinessID
	Kind     string // business, job, delivery, order, webhook, store, item, key
	ID       string // for its page
	Title    string
	Detail   string
}
