// Package toggle enables and disables stores, items and options on platforms. It does so on request, while a POS is
// silent, and again at a requested time.
package toggle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Action is the requested change.
type Action string

// The actions. The last three apply to stores only.
const (
	Enable  Action = "enable"
	Disable Action = "disable"
	Publish Action = "publish"
	Busy    Action = "busy"
	Normal  Action = "normal"
)

// Bounds of a request. The counts are those of a menu request.
const (
	MaxPlatforms = 100
	MaxItems     = 2000
	MaxOptions   = 10000
	maxName      = 255
)

// The bounds of the delay until a store, item or option is enabled again.
const (
	MinDelay = 5 * time.Minute
	MaxDelay = 30 * 24 * time.Hour
)

// The bounds of Busy. It lasts at least MinDelay, if its end is given.
const (
	MaxBusy        = 24 * time.Hour
	MaxPrepMinutes = 180
)

// StoreRequest requests a change of a store on platforms.
type StoreRequest struct {
	LocationRefID string
	Platforms     []string // empty: all that list the store
	Action        Action
	TurnOnAt      time.Time // of Disable; zero: until it is enabled by request
	PrepMinutes   int64     // of Busy; 0: not given
	Until         time.Time // of Busy; zero: until Normal
	Why           string    // reason of a user of the console, for the audit trail
}

// Workload returns the workload that Busy or Normal sets.
func (r StoreRequest) Workload() relay.Workload {
	w := relay.Workload{Busy: r.Action == Busy, PrepMinutes: r.PrepMinutes}
	if !r.Until.IsZero() {
		w.Until = r.Until.UnixMilli()
	}
	return w
}

// ItemRequest requests to enable or disable items and options of a store.
type ItemRequest struct {
	LocationRefID string
	Items         []string
	Options       []string
	Action        Action
	TurnOnAt      time.Time // of Disable; zero: until they are enabled by request
}

// DecodeStore decodes the body of a request about a store. Any violation rejects it with an Invalid error that names
// the field.
func DecodeStore(body []byte, now time.Time) (StoreRequest, error) {
	var sent struct {
		Location  core.Identifier    `json:"location_ref_id"`
		Platforms []*core.Identifier `json:"platforms"`
		Action    string             `json:"action"`
		TurnOnAt  core.PositiveInt   `json:"turn_on_at"`
		Minutes   core.PositiveInt   `json:"prep_minutes"`
		Until     core.PositiveInt   `json:"until"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return StoreRequest{}, err
	}
	c := checker{now: now}
	r := StoreRequest{
		LocationRefID: c.location(string(sent.Location)), Platforms: c.names("platforms", sent.Platforms, MaxPlatforms),
		Action:   c.action(sent.Action, Enable, Disable, Publish, Busy, Normal),
		TurnOnAt: c.turnOnAt(sent.TurnOnAt, sent.Action),
	}
	named := func(platform *core.Identifier) bool { return platform != nil }
	if len(r.Platforms) == 0 && slices.ContainsFunc(sent.Platforms, named) && !c.Any() {
		c.AddBody("platforms", "required", "must name a platform, or be absent for all")
	}
	if r.Action == Busy {
		r.PrepMinutes, r.Until = c.prepMinutes(sent.Minutes), c.until(sent.Until)
	}
	return r, c.Err()
}

func (c *checker) prepMinutes(sent core.PositiveInt) int64 {
	if sent > MaxPrepMinutes {
		c.AddBody("prep_minutes", "range", fmt.Sprintf("must be at most %d, not %d", MaxPrepMinutes, sent))
	}
	return int64(sent)
}

// until returns when a store stops being busy.
func (c *checker) until(sent core.PositiveInt) time.Time {
	if sent == 0 {
		return time.Time{}
	}
	at := time.UnixMilli(int64(sent))
	if at.Before(c.now.Add(MinDelay)) || at.After(c.now.Add(MaxBusy)) {
		c.AddBody("until", "range", "must be between 5 minutes and 24 hours from now, in epoch milliseconds")
	}
	return at
}

// DecodeItems decodes the body of a request about items and options. Any violation rejects it with an Invalid error
// that names the field.
func DecodeItems(body []byte, now time.Time) (ItemRequest, error) {
	var sent struct {
		Location core.Identifier    `json:"location_ref_id"`
		Items    []*core.Identifier `json:"item_ref_ids"`
		Options  []*core.Identifier `json:"option_ref_ids"`
		Action   string             `json:"action"`
		TurnOnAt core.PositiveInt   `json:"turn_on_at"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return ItemRequest{}, err
	}
	c := checker{now: now}
	r := ItemRequest{
		LocationRefID: c.location(string(sent.Location)), Items: c.names("item_ref_ids", sent.Items, MaxItems),
		Options: c.names("option_ref_ids", sent.Options, MaxOptions),
		Action:  c.action(sent.Action, Enable, Disable), TurnOnAt: c.turnOnAt(sent.TurnOnAt, sent.Action),
	}
	if len(r.Items)+len(r.Options) == 0 && !c.Any() {
		c.AddBody("item_ref_ids", "required", "or option_ref_ids must have at least one")
	}
	return r, c.Err()
}

// checker collects the violations of a request.
type checker struct {
	core.Violations
	now time.Time
}

func (c *checker) location(ref string) string {
	if ref == "" {
		c.AddBody("location_ref_id", "required", "is required")
	} else if rule := core.TooLong(ref, maxName); rule != "" {
		c.AddBody("location_ref_id", "length", rule)
	}
	return ref
}

// names returns the distinct names in the order in which they were sent. It skips nulls and blank names.
func (c *checker) names(field string, sent []*core.Identifier, limit int) []string {
	if len(sent) > limit {
		c.AddBody(field, "limit", fmt.Sprintf("must have at most %d elements, not %d", limit, len(sent)))
		return nil
	}
	known := make(map[string]bool, len(sent))
	list := make([]string, 0, len(sent))
	for i, element := range sent {
		if element == nil || strings.TrimSpace(string(*element)) == "" {
			continue
		}
		name := string(*element)
		if rule := core.TooLong(name, maxName); rule != "" {
			c.AddBody(fmt.Sprintf("%s[%d]", field, i), "length", rule)
		} else if !known[name] {
			known[name] = true
			list = append(list, name)
		}
	}
	return list
}

func (c *checker) action(sent string, allowed ...Action) Action {
	if slices.Contains(allowed, Action(sent)) {
		return Action(sent)
	}
	code := "value"
	if sent == "" {
		code = "required"
	}
	c.AddBody("action", code, core.OneOf(allowed, Action(sent)))
	return ""
}

// turnOnAt returns when to enable something that the request disables. It is ignored with other actions.
func (c *checker) turnOnAt(sent core.PositiveInt, action string) time.Time {
	if sent == 0 || Action(action) != Disable {
		return time.Time{}
	}
	at := time.UnixMilli(int64(sent))
	if at.Before(c.now.Add(MinDelay)) || at.After(c.now.Add(MaxDelay)) {
		c.AddBody("turn_on_at", "range", "must be between 5 minutes and 30 days from now, in epoch milliseconds")
	}
	return at
}
