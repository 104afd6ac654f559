package order

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// maxPrepMinutes bounds the preparation time of an order to a day.
const maxPrepMinutes = 1440

// Change is a request to move an order to another state.
type Change struct {
	To          State
	Message     string
	ReasonCode  string
	PrepMinutes *int64 // until the food is ready
	Actor       string // who requests it, such as key:pos
	Platform    string // if set, only an order of this platform matches
	ByChannel   bool   // the channel of the order requests it, so it is not reported to it
	RejectedItems
}

// RejectedItems are the items and options that a cancellation by the POS names as its reason.
type RejectedItems struct {
	OutOfStock []ItemRef `json:"items_oos,omitempty"`
	Invalid    []ItemRef `json:"items_invalid,omitempty"` // the POS cannot prepare them, such as after a change
}

// ItemRef is an item or option.
type ItemRef struct {
	RefID core.Identifier `json:"ref_id"`
}

// RefIDs returns the ref_ids of items.
func RefIDs(items []ItemRef) (list []string) {
	for _, item := range items {
		list = append(list, string(item.RefID))
	}
	return list
}

// rejectedItems returns the items of a change to a state, without nulls, and checks them.
func rejectedItems(field string, sent []*ItemRef, to State, p fieldPath) (items []ItemRef) {
	for _, item := range sent {
		if item != nil {
			items = append(items, *item)
		}
	}
	switch {
	case len(items) > 0 && to != Cancelled:
		p.fail(field, "value", "is only for the status Cancelled")
	case len(items) > MaxItems:
		p.fail(field, "limit", fmt.Sprintf("must have at most %d items, not %d", MaxItems, len(items)))
	default:
		for i, item := range sent {
			if item != nil {
				p.required(fmt.Sprintf("%s[%d].ref_id", field, i), string(item.RefID), maxName)
			}
		}
	}
	return items
}

// DecodeChange decodes the body of a status request. Any violation rejects it with an Invalid error that names the
// field.
func DecodeChange(body []byte) (Change, error) {
	var sent struct {
		NewState   *string         `json:"new_status"`
		Message    string          `json:"message"`
		ReasonCode core.Identifier `json:"reason_code"`
		Extra      core.ObjectOrEmptyArray[struct {
			PrepMinutes *core.Integer `json:"prep_time_mins"`
		}] `json:"extra"`
		OutOfStock []*ItemRef `json:"items_oos"`
		Invalid    []*ItemRef `json:"items_invalid"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return Change{}, err
	}
	var v core.Violations
	p := fieldPath{v: &v}
	change := Change{Message: sent.Message, ReasonCode: string(sent.ReasonCode),
		PrepMinutes: (*int64)(sent.Extra.Value.PrepMinutes)}
	if sent.NewState == nil {
		p.fail("new_status", "required", "is required")
	} else if state, known := ParseState(*sent.NewState); known {
		change.To = state
	} else {
		notAllowed(p, "new_status", State(*sent.NewState), States()...)
	}
	p.text("message", sent.Message, maxText)
	p.text("reason_code", change.ReasonCode, maxName)
	change.OutOfStock = rejectedItems("items_oos", sent.OutOfStock, change.To, p)
	change.Invalid = rejectedItems("items_invalid", sent.Invalid, change.To, p)
	if m := change.PrepMinutes; m != nil && (*m < 0 || *m > maxPrepMinutes) {
		p.fail("extra.prep_time_mins", "range", fmt.Sprintf("must be a number of minutes from 0 to 1440, not %d", *m))
	}
	return change, v.Err()
}

// Result describes for people what the change did to an order in a state.
func (c Change) Result(from State) string {
	switch {
	case from != c.To:
		return "the order was " + string(from) + " and is " + string(c.To)
	case from.HasPrepTime() && c.PrepMinutes != nil:
		unit := "minutes"
		if *c.PrepMinutes == 1 {
			unit = "minute"
		}
		return fmt.Sprintf("the order is already %s, with a preparation time of %d %s", from, *c.PrepMinutes, unit)
	}
	return "the order is " + string(from) + " already, nothing changed"
}

// Subject identifies the order of an event.
type Subject struct {
	OrderID         int64
	Platform        string
	EventAlias      string // the platform's name in events; "" if that is Platform
	PlatformOrderID string
	StoreRefID      string
}

// channel returns how events identify the order at its platform.
func (s Subject) channel() externalChannel {
	return externalChannel{cmp.Or(s.EventAlias, s.Platform), s.PlatformOrderID}
}

// externalChannel identifies the order at its platform.
type externalChannel struct {
	Name    string `json:"name"`
	OrderID string `json:"order_id"`
}

// StatusUpdate returns the body of an order_status_update event.
func StatusUpdate(subject Subject, from State, change Change, at time.Time) ([]byte, error) {
	type additionalInfo struct {
		ExternalChannel externalChannel `json:"external_channel"`
		ReasonCode      string          `json:"reason_code"`
		PrepMinutes     *int64          `json:"prep_time_mins"`
		RejectedItems
	}
	return json.Marshal(struct {
		OrderID   int64          `json:"order_id"`
		PrevState State          `json:"prev_state"`
		NewState  State          `json:"new_state"`
		StoreID   string         `json:"store_id"`
		Timestamp string         `json:"timestamp"`
		Unix      int64          `json:"timestamp_unix"`
		Message   string         `json:"message"`
		More      additionalInfo `json:"additional_info"`
	}{
		OrderID: subject.OrderID, PrevState: from, NewState: change.To, StoreID: subject.StoreRefID,
		Timestamp: at.UTC().Format("2006-01-02T15:04:05.000Z"), Unix: at.Unix(), Message: change.Message,
		More: additionalInfo{subject.channel(), change.ReasonCode,
			change.PrepMinutes, change.RejectedItems},
	})
}
