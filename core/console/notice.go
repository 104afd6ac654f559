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
}

// Unheard is events of a type for which there was no receiver, and is none now.
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
