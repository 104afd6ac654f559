package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// PlatformState is the state of a store on a platform, as the platform sees it.
type PlatformState string

// The states that platforms report.
const (
	OpenThere   PlatformState = "open"
	ClosedThere PlatformState = "closed"
	PausedThere PlatformState = "paused"
)

// PlatformStatus is what a platform reports about a store. Times are epoch milliseconds.
type PlatformStatus struct {
	Platform string        `json:"platform"`
	State    PlatformState `json:"state"`
	Reason   string        `json:"reason,omitzero"` // for people
	Since    int64         `json:"since"`           // when it changed
	Until    int64         `json:"until,omitzero"`  // when the platform opens the store again; 0: unknown
}

// Closed reports whether the store takes no orders there. A status ends at Until.
func (s PlatformStatus) Closed(now time.Time) bool {
	return s.State != OpenThere && (s.Until == 0 || now.UnixMilli() < s.Until)
}

// ClosedBy returns the status of a platform that does not take orders for the store, or nil.
func (s Stored) ClosedBy(platform string, now time.Time) *PlatformStatus {
	at := slices.IndexFunc(s.PlatformStatus, func(r PlatformStatus) bool {
		return r.Platform == platform && r.Closed(now)
	})
	if at < 0 {
		return nil
	}
	return &s.PlatformStatus[at]
}

// PlatformChange is a changed status of a store.
type PlatformChange struct {
	PlatformStatus
	StoreID    int64
	StoreRef   string
	EventAlias string // the name of the platform in events; "" if that is Platform
}

// Event returns the store_platform_status event of the change.
func (c PlatformChange) Event(business core.BusinessID, now time.Time) (core.Event, error) {
	body, err := json.Marshal(struct {
		RefID    string        `json:"location_ref_id"`
		ID       int64         `json:"location_upipr_id"`
		Platform string        `json:"platform"`
		State    PlatformState `json:"state"`
		Reason   string        `json:"reason,omitzero"`
		Since    int64         `json:"since"`
		Until    int64         `json:"until,omitzero"`
		At       int64         `json:"ts_utc"`
	}{c.StoreRef, c.StoreID, cmp.Or(c.EventAlias, c.Platform), c.State, c.Reason, c.Since, c.Until, now.UnixMilli()})
	return core.Event{ID: core.NewID(now), Business: business, Type: core.StorePlatformStatus, At: now, Body: body}, err
}
