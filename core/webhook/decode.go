package webhook

import (
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/core"
)

// MaxHeaders bounds the custom headers of a subscription.
const MaxHeaders = 32

const maxHeaderValue = 4096

// Input is the part of a subscription that a request sets. A nil field was not sent.
type Input struct {
	Active    *bool
	EventType core.EventType // "" when not sent
	URL       *string
	Headers   map[string]string
	Units     *Units
}

// DecodeInput decodes the body of a creation or, with update, of a change, which requires no field. Violations name
// the field.
func DecodeInput(body []byte, update bool) (Input, error) {
	var root struct {
		Active    *bool              `json:"active"`
		EventType jsontext.Value     `json:"event_type"` // a name, or a numeric id as number or string
		URL       *string            `json:"url"`
		Headers   map[string]*string `json:"headers"`
		Units     *string            `json:"retrial_interval_units"`
	}
	if err := core.DecodeJSON(body, &root); err != nil {
		return Input{}, err
	}
	var v core.Violations
	input := Input{Active: root.Active, URL: root.URL, Headers: sent(root.Headers)}
	input.EventType = readEventType("event_type", root.EventType, !update, &v)
	switch {
	case root.URL != nil:
		if wrong := core.CheckURL(*root.URL); wrong != "" {
			v.AddBody("url", "url", wrong)
		}
	case !update:
		v.AddBody("url", "required", "is required")
	}
	if root.Units != nil {
		units := Units(strings.ToLower(*root.Units))
		if units != Minutes && units != Seconds {
			v.AddBody("retrial_interval_units", "value", core.OneOf([]Units{Minutes, Seconds}, Units(*root.Units)))
		}
		input.Units = &units
	}
	dropUsual(input.Headers, input.EventType)
	checkHeaders(input.Headers, &v)
	return input, v.Err()
}

// dropUsual drops the headers that every delivery has anyway. Many clients send them along.
func dropUsual(headers map[string]string, event core.EventType) {
	maps.DeleteFunc(headers, func(name, value string) bool {
		switch {
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

// sent drops the headers that are null, which count as not sent.
func sent(headers map[string]*string) map[string]string {
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

func readEventType(field string, raw jsontext.Value, required bool, v *core.Violations) core.EventType {
	if raw == nil || raw.Kind() == 'n' {
		if required {
			v.AddBody(field, "required", "is required, as one of: "+core.Join(core.EventTypes()))
		}
		return ""
	}
	text := string(raw)
	if raw.Kind() == '"' {
		unquoted, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			unquoted = nil
		}
		text = string(unquoted)
	}
	event, known := core.ParseEventType(text)
	if !known {
		v.AddBody(field, "value", core.OneOf(core.EventTypes(), core.EventType(text)))
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

func checkHeaders(headers map[string]string, v *core.Violations) {
	if len(headers) > MaxHeaders {
		v.AddBody("headers", "limit", fmt.Sprintf("must have at most %d elements, not %d", MaxHeaders, len(headers)))
		return
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	seen := map[string]bool{}
	for _, name := range names {
		field, lower := "headers."+strings.ToValidUTF8(name, "?"), strings.ToLower(name)
		reserved := func(other string) bool { return strings.EqualFold(other, name) }
		prefixed := func(prefix string) bool { return strings.HasPrefix(lower, prefix) }
		switch {
		case !httpguts.ValidHeaderFieldName(name) || len(name) > 256:
			v.AddBody(field, "header", "is not a valid header name")
		case slices.ContainsFunc(reservedHeaders, reserved) || slices.ContainsFunc(reservedPrefixes, prefixed):
			v.AddBody(field, "header", "is set by the hub and cannot be chosen")
		case seen[lower]:
			v.AddBody(field, "duplicate", "is given twice")
		case !httpguts.ValidHeaderFieldValue(headers[name]) || len(headers[name]) > maxHeaderValue:
			v.AddBody(field, "header", fmt.Sprintf("must be a valid header value of at most %d bytes", maxHeaderValue))
		}
		seen[lower] = true
	}
}
