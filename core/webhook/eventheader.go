package webhook

import (
	"strconv"
	"strings"

	"github.com/servery-hub/servery/core"
)

// EventValue is the form of an event type in a header.
type EventValue string

// The forms: the name of the event type, or its numeric id.
const (
	EventName   EventValue = "name"
	EventNumber EventValue = "number"
)

// EventHeader is a header that every delivery of a subscription carries with its event type, beside HeaderEventType
// and HeaderEventTypeID. Without a Name there is none.
type EventHeader struct {
	Name  string
	Value EventValue
}

// ValueFor returns the value of the header for an event type. It is "" for an event type without a number: the
// webhooks of order_placed can receive such events instead of others.
func (h EventHeader) ValueFor(event core.EventType) string {
	if h.Value != EventNumber {
		return string(event)
	}
	if number := event.Number(); number != 0 {
		return strconv.Itoa(number)
	}
	return ""
}

// EventHeaderInput returns the input that sets the header with the event type, or removes it if the name is "".
func EventHeaderInput(name, value string) (Input, error) {
	set := inputBody{EventHeader: &name}
	if name != "" {
		set.EventHeaderValue = &value
	}
	var v core.Violations
	input := set.input(true, v.AddBody)
	return input, v.Err()
}

// applyEventHeader sets the header with the event type. It returns Invalid if the subscription cannot have it.
func (i Input) applyEventHeader(sub *Subscription) error {
	h := &sub.EventHeader
	if i.EventHeader != nil {
		h.Name = *i.EventHeader
	}
	if i.EventHeaderValue != nil {
		h.Value = *i.EventHeaderValue
	}
	var v core.Violations
	if h.Name == "" {
		if i.EventHeaderValue != nil && i.EventHeader == nil {
			v.AddBody("event_type_header", "required", "is required with event_type_header_value")
		}
		*h = EventHeader{}
		return v.Err()
	}
	if h.Value == "" {
		h.Value = EventName
	}
	if h.Value == EventNumber && sub.EventType.Number() == 0 {
		v.AddBody("event_type_header_value", "value",
			"must be name: the event type "+string(sub.EventType)+" has no number")
	}
	for name := range sub.Headers {
		if !strings.EqualFold(name, h.Name) {
			continue
		}
		if i.EventHeader != nil {
			v.AddBody("event_type_header", "duplicate", "is a custom header of the webhook, too")
		} else {
			v.AddBody("headers."+name, "duplicate", "is the event_type_header of the webhook, too")
		}
	}
	return v.Err()
}
