package order

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Rejection is an order that the hub did not accept. An unknown field is empty.
type Rejection struct {
	Business        core.BusinessID
	Platform        string
	PlatformOrderID string
	Store           string // as sent: the ref_id, or else the platform store's id
	Reason          string // for people
	// the order itself is correct: the hub may accept it when it is resent
	HubFault bool
}

// maxReason bounds a reason, in characters.
const maxReason = 1000

// orderFaults are the error codes of faults in the order itself. The hub would reject it each time it is resent.
var orderFaults = []core.Code{core.Invalid, core.NotFound, core.Forbidden, core.TooLarge, core.UnsupportedMedia}

// NewRejection extracts the identifiers of a rejected order from its body. The body may be malformed: then only the
// part before the error is read. The reason is safe to show: it has no details of an internal error.
func NewRejection(err error, body []byte) Rejection {
	ids := identifiers(body[:min(len(body), MaxBody)])
	r := Rejection{
		Platform: ids["platform"], PlatformOrderID: ids["platform_order_id"],
		Store: cmp.Or(ids["store_ref_id"], ids["platform_store_id"]), HubFault: true,
	}
	var known *core.Error
	switch {
	case errors.As(err, &known) && known.Code != core.Internal:
		r.Reason, r.HubFault = sanitize(known.Message, maxReason), !slices.Contains(orderFaults, known.Code)
	case core.IsDatabaseUnavailable(err):
		r.Reason = "the hub could not use its database"
	default:
		r.Reason = "the hub failed to process the order"
	}
	return r
}

// identifiers returns the strings and whole numbers of an object by name, up to a syntax error.
func identifiers(body []byte) map[string]string {
	found := map[string]string{}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return found
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		var text core.Identifier
		if json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) == nil {
			found[name] = sanitize(string(text), maxName)
		}
	}
	return found
}

// sanitize returns text in a form that can be stored and shown, truncated to longest characters.
func sanitize(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest])
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
