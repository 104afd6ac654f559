// Package publish sends the menus of stores to the aggregators that list them. A burst of changes is published once,
// with the latest content. There is one publication at a time for each store and platform, retried like a delivery.
// The result is stored and reported by a hub_menu_publish event.
package publish

import (
	"context"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/queue"
)

// Work is a store and platform that is leased to this replica.
type Work struct {
	Business         core.BusinessID
	StoreID          int64
	StoreRef         string
	Platform         string
	EventPlatform    string    // the platform's name in events; "" if that is Platform
	Plugin           string    // the plugin that serves the platform; core.ServedByMerchant: none any more
	Endpoint         int64     // the unit of fairness: one for each platform of a business
	Version          int64     // of the changes, when it was claimed
	Attempts         int       // finished so far, for this content
	CallID           core.ID   // of the current content: its idempotency key; zero: not attempted yet
	Reference        core.ID   // of the latest change
	PendingRequests  []core.ID // of the requests that led to it and have not been notified of its outcome
	ExplicitRequests []core.ID // of the explicit requests: each is notified, and the menu is sent even if unchanged
	Digest           []byte    // of the content that the platform has; nil: unknown
	LeasedUntil      time.Time
	Lease            int64      // number of the lease
	Owner            core.ID    // of the lease
	Steps            []byte     // the completed steps of earlier attempts (relay.Call); nil: none
	Trace            core.Trace // of the latest change
	Sent             *SentMenu  // whose outcome is pending; nil: none
}

// Problem is an object that could not be published as intended, with the reason.
type Problem = outcome.Problem

// Rendering is a store's menu in the aggregator's own format.
type Rendering struct {
	Unlisted        string    // why the store is not listed on the platform; "" if it is
	Skip            string    // why nothing is to be sent; "" if something is
	Content         []string  // all that would be sent, and where to; empty if nothing is sent for an unlisted store
	PendingRequests []core.ID // of the requests whose changes are in it and that have not been notified
	PlatformStoreID string    // the platform store's id after the platform accepts the menu
	Omitted         []Problem // because of the platform's rules or the limits of its format
	Note            string    // for people, stored with the outcome
	Document        []byte    // the body that would be sent, without secrets; nil: none
	Send            func(ctx context.Context) SendResult
}

// SendResult is the result of sending.
type SendResult struct {
	State      State // Published, Failed, Pending, or Waiting for a retry
	Message    string
	Problems   []Problem // reported by the aggregator
	RetryAt    time.Time // of Waiting
	RetryAfter time.Time // the aggregator throttles menus until then (429); zero: it does not say
	Uncounted  bool      // of Waiting: it does not count as an attempt
	Responded  bool      // with any status but 429
	Unsent     bool      // no request was sent
	Exchange   *Exchange // of a menu; nil: no request was sent
	Task       string    // of Pending: the aggregator's id of it
	Deadline   time.Time // of Pending: when the outcome is overdue
}

// State is the state of a publication.
type State string

// The states of a publication.
const (
	Waiting   State = "waiting"   // no result yet
	Published State = "published" // the platform accepted the menu
	Failed    State = "failed"    // the platform rejected the menu, or could not be reached
	Unlisted  State = "unlisted"  // the store is not listed on the platform, which was notified if its plugin can
	Skipped   State = "skipped"   // the platform does not receive menus

	// Pending is never stored: the platform has accepted the menu, and reports the outcome later.
	Pending State = "pending"

	leftToPeer State = "left" // left to another replica; never recorded
)

// ParseState parses the name of a state.
func ParseState(name string) (State, bool) {
	switch s := State(name); s {
	case Waiting, Published, Failed, Unlisted, Skipped:
		return s, true
	}
	return "", false
}

// Result is the result of claimed work.
type Result struct {
	Work
	State           State
	Unchanged       bool // of Published: the platform already had it, nothing was sent
	Message         string
	Omitted         []Problem
	Problems        []Problem
	Warnings        []Problem // about objects that the platform lists
	Digest          []byte    // of the content that the platform now has
	PlatformStoreID string    // the platform store's id after the platform accepts the menu
	RetryAt         time.Time // of Waiting; of Pending: the deadline
	Uncounted       bool      // of Waiting: it does not count as an attempt
	RetryAfter      time.Time // the aggregator throttles menus until then
	Attempted       bool      // something was sent
	Exchange        *Exchange // that sent the menu; nil: none
	Overdue         bool      // of Failed: the outcome was not reported in time
	Replaced        core.ID   // of Pending: the call of an earlier menu whose outcome was pending; zero: none
	At              time.Time
}

// Renderer renders menus. An Invalid error means that this menu can never be rendered. NotFound means that the
// platform's plugin renders no menus. With core.Snooze another replica runs the plugin: the work is left to that
// replica, and no work of the platform is claimed until then. A core.Error with Internal is a failure at this menu,
// which is retried a few times. With any other error the work waits.
type Renderer interface {
	Render(ctx context.Context, work Work) (Rendering, error)
}

// Queue stores pending work. Replicas share it.
type Queue interface {
	// Claim leases due work to the owner, within the capacity. The keys are endpoints, and the groups are plugins.
	Claim(ctx context.Context, owner core.ID, capacity queue.Capacity, until time.Time) (queue.Batch[Work], error)
	// Finish records a result with its events, in one transaction. It does nothing if the owner no longer holds the
	// lease.
	Finish(ctx context.Context, owner core.ID, result Result, events []core.Event) error
	// Release returns leased work to the queue without changing its due time.
	Release(ctx context.Context, owner core.ID, work Work) error
}

// Publication is the stored state of a store and platform.
type Publication struct {
	StoreRef    string
	Platform    string
	State       State
	Message     string
	Errors      []Problem
	Warnings    []Problem // about objects that the platform lists
	Reference   core.ID   // the change that led to the outcome; zero before the first
	PublishedAt time.Time // when the platform last accepted the menu; zero: never
	UpdatedAt   time.Time // when the state was last updated
	DueAt       time.Time // of pending work; zero: none
	Note        string    // why it still waits
	Attempts    int       // at the pending work
	// The platform has accepted a menu at Since, and must report its outcome by Deadline; zero: it has not.
	Since, Deadline time.Time
	Task            string // the platform's id of that
}

// Lacks returns why the platform lacks an item of the menu that it accepted, or nil.
func (p *Publication) Lacks(itemRef string) *Problem {
	for i := range p.Errors {
		if p.State == Published && p.Errors[i].Entity == "item" && p.Errors[i].RefID == itemRef {
			return &p.Errors[i]
		}
	}
	return nil
}

// Filter narrows a list. Empty fields match all.
type Filter struct {
	StoreRef string
	Platform string
	State    State
	After    Cursor
	Limit    int
}

// Cursor is a position in the list, which is sorted by store and platform.
type Cursor struct{ StoreRef, Platform string }

// String encodes a cursor as opaque text.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.StoreRef + "\x00" + c.Platform)) // neither contains a NUL
}

// ParseCursor parses the output of String.
func ParseCursor(text string) (c Cursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	c.StoreRef, c.Platform, ok = strings.Cut(string(raw), "\x00")
	return c, ok && err == nil && utf8.Valid(raw) && !strings.Contains(c.Platform, "\x00")
}
