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

// Refused is an order that was not taken. What is not known of it is empty.
type Refused struct {
	Business        core.BusinessID
	Platform        string
	PlatformOrderID string
	Store           string // as it was named: the ref_id, else the id that the platform has for it
	Reason          string // for people
}

// maxReason bounds a reason, in characters.
const maxReason = 1000

// refusals are the codes by which what was brought is at fault: brought again, it is
// refused again.
var refusals = []core.Code{core.Invalid, core.NotFound, core.Forbidden, core.TooLarge, core.UnsupportedMedia}

// RefusedBy is what can be told of the body of an order that an error kept from being
// taken: it may be broken, then what stands before the break is read. ok is false where
// it is the hub that could not take it.
func RefusedBy(err error, body []byte) (r Refused, ok bool) {
	var known *core.Error
	if !errors.As(err, &known) || !slices.Contains(refusals, known.Code) {
		return r, false
	}
	said := identifiers(body[:min(len(body), MaxBody)])
	return Refused{
		Platform: said["platform"], PlatformOrderID: said["platform_order_id"],
		Store: cmp.Or(said["store_ref_id"], said["platform_store_id"]), Reason: legible(known.Message, maxReason),
	}, true
}

// identifiers are the texts and whole numbers that stand in an object by their names,
// up to where it is broken.
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
			found[name] = legible(string(text), maxName)
		}
	}
	return found
}

// legible is a text as it can be stored and shown, cut to so many characters.
func legible(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest])
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
