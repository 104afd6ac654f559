package toggle

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// The origin of a change, as events state it.
const (
	SourceAPI      = "api"
	SourcePresence = "presence" // the hub, when a POS fell silent or recovered
	SourceTimer    = "timer"    // the hub, at the turn_on_at of a request
)

// Switch is a requested change of a store on a platform.
type Switch struct {
	Business   core.BusinessID
	StoreID    int64
	StoreRef   string
	Platform   string
	EventAlias string // the platform's name in events; "" if that is Platform
	Enable     bool
	Workload   *relay.Workload // set if it changes how busy the store is, and not Enable
	Source     string
	Reference  core.ID
}

// Outcome is the result of a change.
type Outcome struct {
	Switch
	Done    bool
	Message string // the reason of a failure, or of the request
	At      time.Time
}

// Status is the state of a request.
type Status struct {
	Events  []core.Event      // its outcomes as events, with type and body, oldest first
	Pending []PendingPlatform // platforms without an outcome yet
}

// PendingPlatform is a platform that has not been notified yet.
type PendingPlatform struct {
	Platform  string
	LastError string // the error of the latest attempt; "" before the first
}

// eventPlatform returns the platform's name in events.
func (s Switch) eventPlatform() string { return cmp.Or(s.EventAlias, s.Platform) }

// Action returns the action that the switch does.
func (s Switch) Action() Action {
	switch {
	case s.Workload != nil && s.Workload.Busy:
		return Busy
	case s.Workload != nil:
		return Normal
	case s.Enable:
		return Enable
	}
	return Disable
}

// StoreEvent returns the store_action event of a store that was enabled or disabled, or whose workload changed.
func (o Outcome) StoreEvent() (core.Event, error) {
	var workload relay.Workload
	if o.Workload != nil {
		workload = *o.Workload
	}
	return o.event(core.StoreAction, struct {
		Action    Action `json:"action"`
		RefID     string `json:"location_ref_id"`
		ID        int64  `json:"location_upipr_id"`
		Platform  string `json:"platform"`
		Source    string `json:"action_src"`
		Reference string `json:"reference_id"`
		Status    bool   `json:"status"`
		At        int64  `json:"ts_utc"`
		Message   string `json:"message,omitzero"`
		Minutes   int64  `json:"prep_minutes,omitzero"`
		Until     int64  `json:"until,omitzero"`
	}{o.Action(), o.StoreRef, o.StoreID, o.eventPlatform(), o.Source, o.Reference.String(), o.Done, o.At.UnixMilli(),
		o.Message, workload.PrepMinutes, workload.Until})
}

type location struct {
	ID    int64  `json:"id"`
	RefID string `json:"ref_id"`
}

// ItemEvents returns the item_state_toggle and option_state_toggle events of a change at a store. It returns none for
// an empty list. If the change failed, each item and option has failed.
func (o Outcome) ItemEvents(items, options []core.AvailabilityResult) (events []core.Event, err error) {
	if len(items) > 0 {
		event, err := o.itemEvent(items)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	if len(options) > 0 {
		event, err := o.optionEvent(options)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// reason returns why an item or option could not be changed, or "" if it was.
func (o Outcome) reason(s core.AvailabilityResult) string {
	if s.Reason == "" && !o.Done {
		return o.Message
	}
	return s.Reason
}

func (o Outcome) itemEvent(items []core.AvailabilityResult) (core.Event, error) {
	type item struct {
		ID      int64  `json:"id"` // 0: no item has this ref_id
		RefID   string `json:"ref_id"`
		Status  string `json:"status"`
		Message string `json:"message,omitzero"`
	}
	type store struct {
		Location location `json:"location"`
		Items    []item   `json:"items"`
	}
	results := make([]item, len(items))
	for i, s := range items {
		results[i] = item{s.ID, s.RefID, "success", o.reason(s)}
		if results[i].Message != "" {
			results[i].Status = "error"
		}
	}
	return o.event(core.ItemStateToggle, struct {
		Action    Action  `json:"action"`
		Platform  string  `json:"platform"`
		Reference string  `json:"reference_id"`
		At        int64   `json:"ts_utc"`
		Status    []store `json:"status"`
	}{o.Action(), o.eventPlatform(), o.Reference.String(), o.At.UnixMilli(),
		[]store{{location{o.StoreID, o.StoreRef}, results}}})
}

func (o Outcome) optionEvent(options []core.AvailabilityResult) (core.Event, error) {
	type option struct {
		ID      int64  `json:"id"`
		RefID   string `json:"ref_id"`
		Success bool   `json:"success"`
		Message string `json:"message,omitzero"`
	}
	results := make([]option, len(options))
	for i, s := range options {
		message := o.reason(s)
		results[i] = option{s.ID, s.RefID, message == "", message}
	}
	return o.event(core.OptionStateToggle, struct {
		Action    Action   `json:"action"`
		Platform  string   `json:"platform"`
		Reference string   `json:"reference_id"`
		At        int64    `json:"ts_utc"`
		Location  location `json:"location"`
		Options   []option `json:"options"`
	}{o.Action(), o.eventPlatform(), o.Reference.String(), o.At.UnixMilli(), location{o.StoreID, o.StoreRef}, results})
}

func (o Outcome) event(kind core.EventType, body any) (core.Event, error) {
	text, err := json.Marshal(body)
	return core.Event{ID: core.NewID(o.At), Business: o.Business, Type: kind, At: o.At, Body: text,
		Reference: o.Reference.String()}, err
}
