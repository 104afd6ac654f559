package customer

import (
	"bytes"
	"errors"
	"io"
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
	"flags/code": true, "flags/path": true,
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
	Name    string `json:"name"`
	Email   string `json:"email"`
	Phone   string `json:"phone"`
	Address struct {
		Line1 string `json:"line_1"`
	} `json:"address"`
}

// minMention is the length in bytes of the shortest text that is searched for. Shorter ones are parts of other words.
const minMention = 5

// Mention is a text in lower case that identifies the customer of a placed order. Messages may quote it.
type Mention struct {
	Text      string
	IsContact bool // a telephone number or email address, not a name or an address
}

// Mentions returns the texts that identify the customer of a placed order. Single words are none, because messages
// have them for other reasons.
func Mentions(placed []byte) (texts []Mention) {
	var body struct {
		Customer Identity `json:"customer"`
	}
	if json.Unmarshal(placed, &body) != nil {
		return nil
	}
	c := body.Customer
	add := func(text string, words int) {
		text = strings.ToLower(strings.TrimSpace(text))
		if len(text) >= minMention && len(strings.Fields(text)) >= words {
			texts = append(texts, Mention{Text: text, IsContact: words == 1})
		}
	}
	add(c.Email, 1)
	add(c.Phone, 1)
	add(c.Name, 2)
	add(c.Address.Line1, 3)
	return texts
}
