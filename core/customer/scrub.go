package customer

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// personal are the objects that lose all values. Only their keys remain.
var personal = map[string]bool{
	"customer": true, "delivery_person_details": true, "data": true, "parameters": true,
}

// kept are the texts that remain: ids, states, codes, and what was ordered. Any other text may name a person.
var kept = map[string]bool{
	"action": true, "biz_name": true, "channel": true, "current_state": true, "delivery_type": true, "food_type": true,
	"id": true, "kind": true, "liability_on": true, "merchant_id": true, "merchant_ref_id": true, "mode": true,
	"new_state": true, "next_state": true, "next_states": true, "option": true, "option_ref_ids": true,
	"order_id": true, "order_state": true, "order_type": true, "platform": true, "platform_order_id": true,
	"platform_store_id": true, "prev_state": true, "reason_code": true, "ref_id": true, "ref_ids": true,
	"ref_order_id": true, "reference": true, "reference_id": true, "srvr_trx_id": true, "state": true, "status": true,
	"store_id": true, "tags": true, "timestamp": true, "title": true,
	"store/name": true, "store/address": true, "ext_platforms/name": true, "external_channel/name": true,
	"flags/code": true, "flags/path": true, "items/change": true, "amounts/name": true,
}

// Scrub returns a stored JSON object without personal data. Amounts, items, ids and states remain, and so does the
// type of every value. It returns an empty object for a text that is no JSON object.
func Scrub(body []byte) []byte {
	scrubbed, err := scrub(body)
	if err != nil {
		return []byte("{}")
	}
	return scrubbed
}

func scrub(body []byte) ([]byte, error) {
	var out bytes.Buffer
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	encoder := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if decoder.PeekKind() != '{' {
		return nil, errors.New("no object")
	}
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err == nil {
			err = encoder.WriteToken(scrubToken(decoder, token))
		}
		if err != nil {
			return nil, err
		}
	}
}

// scrubToken returns what remains of a token: an empty text or null instead of personal data.
func scrubToken(decoder *jsontext.Decoder, token jsontext.Token) jsontext.Token {
	kind := token.Kind()
	if kind != '"' && kind != '0' {
		return token
	}
	if within, n := decoder.StackIndex(decoder.StackDepth()); within == '{' && n%2 == 1 { // the name of a member
		return token
	}
	var key, parent string
	for part := range decoder.StackPointer().Tokens() {
		if personal[part] {
			if kind == '0' {
				return jsontext.Null
			}
			return jsontext.String("")
		}
		if strings.Trim(part, "0123456789") != "" { // no index
			parent, key = key, part
		}
	}
	if kind == '0' || kept[key] || kept[parent+"/"+key] {
		return token
	}
	return jsontext.String("")
}

// Identity is what a placed order says of its customer.
type Identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

// minQuote is the length in bytes of the shortest text that is searched for. Shorter ones are parts of other words.
const minQuote = 5

// Quotes are regular expressions of PostgreSQL, matched without regard to case. An empty one matches nothing.
type Quotes struct {
	Any     string // telephone numbers, email addresses and full names
	Contact string // without names, which other people may have
}

// QuotesOf returns what matches quotes of the customers of placed orders. A name of one word is not quoted, because it
// may be any word.
func QuotesOf(placed [][]byte) Quotes {
	var contacts, names []string
	for _, text := range placed {
		var body struct {
			Customer Identity `json:"customer"`
		}
		if json.Unmarshal(text, &body) != nil {
			continue
		}
		contacts = appendQuote(contacts, body.Customer.Email)
		if digits, _, _ := digitsOf(body.Customer.Phone); len(digits) >= minDigits {
			contacts = appendQuote(contacts, body.Customer.Phone)
		}
		if len(strings.Fields(body.Customer.Name)) > 1 {
			names = appendQuote(names, body.Customer.Name)
		}
	}
	return Quotes{Any: wholeWords(append(names, contacts...)), Contact: wholeWords(contacts)}
}

// appendQuote appends the patterns of a text, also in the form of a URL.
func appendQuote(patterns []string, text string) []string {
	if text = strings.TrimSpace(text); len(text) < minQuote {
		return patterns
	}
	return append(patterns, regexp.QuoteMeta(text), regexp.QuoteMeta(url.QueryEscape(text)))
}

func wholeWords(patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	return `(?<![[:alnum:]])(?:` + strings.Join(patterns, "|") + `)(?![[:alnum:]])`
}
