package webhook

import (
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/core"
)

// MaxHeaders bounds the custom headers of a subscription.
const MaxHeaders = 32

// Bounds in bytes of the values of custom headers. Every attempt sends them, and searches its response for them.
const (
	maxHeaderValue  = 4096
	maxHeaderValues = 16 << 10 // of all
)

// Input is the part of a subscription that a request sets. A nil field was not sent.
type Input struct {
	Active           *bool
	EventType        core.EventType // "" when not sent
	URL              *string
	Headers          map[string]string
	Units            *Units
	EventHeader      *string // a name; "" removes it
	EventHeaderValue *EventValue
}

// inputBody is a subscription as a request contains it.
type inputBody struct {
	Active           *bool                                       `json:"active"`
	EventType        jsontext.Value                              `json:"event_type"` // a name or a numeric id
	URL              *string                                     `json:"url"`
	Headers          core.ObjectOrEmptyArray[map[string]*string] `json:"headers"`
	Units            *string                                     `json:"retrial_interval_units"`
	EventHeader      *string                                     `json:"event_type_header"`
	EventHeaderValue *string                                     `json:"event_type_header_value"`
}

// failFunc records a violation of a field.
type failFunc func(field, code, rule string)

// DecodeInput decodes the body of a creation or, with update, of a change, which requires no field. Violations name
// the field.
func DecodeInput(body []byte, update bool) (Input, error) {
	var root inputBody
	if err := core.DecodeJSON(body, &root); err != nil {
		return Input{}, err
	}
	var v core.Violations
	input := root.input(update, v.AddBody)
	return input, v.Err()
}

// MaxBulk bounds the webhooks of one request.
const MaxBulk = 50

// DecodeBulk decodes the body of a bulk creation. Violations name the webhook and the field.
func DecodeBulk(body []byte) ([]Input, error) {
	root := struct {
		Webhooks core.Array `json:"webhooks"`
	}{core.Array{Limit: MaxBulk}}
	if err := core.DecodeJSON(body, &root); err != nil {
		return nil, err
	}
	var v core.Violations
	switch sent := root.Webhooks; {
	case !sent.Sent:
		v.AddBody("webhooks", "required", "is required: an array of webhooks")
	case sent.Count == 0:
		v.AddBody("webhooks", "required", "must hold at least one webhook")
	case sent.Count > MaxBulk:
		v.AddBody("webhooks", "limit", fmt.Sprintf("must have at most %d elements, not %d", MaxBulk, sent.Count))
		return nil, v.Err()
	}
	raws := root.Webhooks.Elements(body)
	inputs, objects, first := make([]Input, len(raws)), make([]inputBody, len(raws)), map[Key]int{}
	failures := core.DecodeObjects(raws, func(i int) any { return &objects[i] })
	for i, raw := range raws {
		at := bulkObject(i)
		if failures[i] != nil {
			v.AddFailure(at, raw, failures[i])
			continue
		}
		inputs[i] = objects[i].input(false, func(field, code, rule string) { v.Add(at, field, code, rule) })
		if inputs[i].URL == nil || inputs[i].EventType == "" {
			continue
		}
		key := inputs[i].key()
		if earlier, known := first[key]; known {
			v.Add(at, "url", "duplicate", fmt.Sprintf("and event_type are the same as in webhooks[%d]", earlier))
			continue
		}
		first[key] = i
	}
	return inputs, v.Err()
}

// bulkObject locates a webhook of a bulk request.
func bulkObject(i int) core.Object { return core.Object{Array: "webhooks", Index: i} }

// input checks the fields.
func (f inputBody) input(update bool, fail failFunc) Input {
	input := Input{Active: f.Active, URL: f.URL, Headers: nonNull(f.Headers.Value), EventHeader: f.EventHeader}
	input.EventType = readEventType("event_type", f.EventType, !update, fail)
	switch {
	case f.URL != nil:
		if wrong := core.CheckURL(*f.URL); wrong != "" {
			fail("url", "url", wrong)
		}
	case !update:
		fail("url", "required", "is required")
	}
	if f.Units != nil {
		units := Units(strings.ToLower(*f.Units))
		if units != Minutes && units != Seconds {
			fail("retrial_interval_units", "value", core.OneOf([]Units{Minutes, Seconds}, Units(*f.Units)))
		}
		input.Units = &units
	}
	if !update { // Update checks those of a change, which may omit the event type
		var address string
		if f.URL != nil {
			address = *f.URL
		}
		checkHeaders(input.Headers, address, input.EventType, fail)
	}
	if f.EventHeader != nil && *f.EventHeader != "" {
		if wrong := headerNameError(*f.EventHeader); wrong != "" {
			fail("event_type_header", "header", wrong)
		}
	}
	if f.EventHeaderValue != nil {
		value := EventValue(strings.ToLower(*f.EventHeaderValue))
		if value != EventName && value != EventNumber {
			fail("event_type_header_value", "value", core.OneOf([]EventValue{EventName, EventNumber}, value))
		}
		input.EventHeaderValue = &value
	}
	return input
}

// dropDefaultHeaders drops the headers that every delivery has anyway. Many clients send them along.
func dropDefaultHeaders(headers map[string]string, address string, event core.EventType) {
	maps.DeleteFunc(headers, func(name, value string) bool {
		switch {
		case strings.EqualFold(name, "Host"):
			u, err := url.Parse(address)
			return err == nil && strings.EqualFold(value, u.Host)
		case strings.EqualFold(name, "Content-Type"):
			media, parameters, err := mime.ParseMediaType(value)
			if strings.EqualFold(parameters["charset"], "utf-8") { // JSON has no other
				delete(parameters, "charset")
			}
			return err == nil && media == contentType && len(parameters) == 0
		case strings.EqualFold(name, HeaderEventType):
			return event != "" && value == string(event)
		case strings.EqualFold(name, HeaderEventTypeID):
			return event != "" && value == strconv.Itoa(event.Number())
		}
		return false
	})
}

// nonNull drops the headers that are null, which count as not sent.
func nonNull(headers map[string]*string) map[string]string {
	if headers == nil {
		return nil
	}
	valued := make(map[string]string, len(headers))
	for name, value := range headers {
		if value != nil {
			valued[name] = *value
		}
	}
	return valued
}

func readEventType(field string, raw jsontext.Value, required bool, fail failFunc) core.EventType {
	if raw == nil || raw.Kind() == 'n' {
		if required {
			fail(field, "required", "is required, as one of: "+core.Join(core.EventTypes()))
		}
		return ""
	}
	text := core.IntegerText(string(raw))
	if raw.Kind() == '"' {
		unquoted, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			unquoted = nil
		}
		text = string(unquoted)
	}
	event, known := core.ParseEventType(text)
	if !known {
		fail(field, "value", core.OneOf(core.EventTypes(), core.EventType(text)))
	}
	return event
}

// reservedHeaders are set by the hub or by the connection.
var reservedHeaders = []string{
	"Host", "Connection", "Keep-Alive", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect",
	"Accept-Encoding", "Idempotency-Key", "X-Idempotency-Key", HeaderEventType, HeaderEventTypeID, HeaderTest,
	HeaderTrace, "tracestate",
}

var reservedPrefixes = []string{"content-", "proxy-", "webhook-"}

// headerNameError describes why a header may not be chosen, or returns "" if it may.
func headerNameError(name string) string {
	lower := strings.ToLower(name)
	reserved := func(other string) bool { return strings.EqualFold(other, name) }
	prefixed := func(prefix string) bool { return strings.HasPrefix(lower, prefix) }
	switch {
	case !httpguts.ValidHeaderFieldName(name) || len(name) > 256:
		return "is not a valid header name"
	case slices.ContainsFunc(reservedHeaders, reserved) || slices.ContainsFunc(reservedPrefixes, prefixed):
		return "is set by the hub and cannot be chosen"
	}
	return ""
}

// checkHeaders drops the headers that every delivery of the event type to the URL has, and checks the others.
func checkHeaders(headers map[string]string, address string, event core.EventType, fail failFunc) {
	dropDefaultHeaders(headers, address, event)
	if len(headers) > MaxHeaders {
		fail("headers", "limit", fmt.Sprintf("must have at most %d elements, not %d", MaxHeaders, len(headers)))
		return
	}
	seen, total := map[string]bool{}, 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		field, lower := "headers."+strings.ToValidUTF8(name, "?"), strings.ToLower(name)
		if wrong := headerNameError(name); wrong != "" {
			fail(field, "header", wrong)
		} else if seen[lower] {
			fail(field, "duplicate", "is given twice")
		} else if !httpguts.ValidHeaderFieldValue(headers[name]) || len(headers[name]) > maxHeaderValue {
			fail(field, "header", fmt.Sprintf("must be a valid header value of at most %d bytes", maxHeaderValue))
		}
		seen[lower] = true
		total += len(headers[name])
	}
	if total > maxHeaderValues {
		fail("headers", "limit", fmt.Sprintf("must have values of at most %d bytes in all, not %d", maxHeaderValues,
			total))
	}
}
