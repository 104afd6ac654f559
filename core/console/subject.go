package console

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SubjectOf is what the body of an event is about, so that two of one type about
// the same can be told from others: an order, a location; "" where it names neither.
func SubjectOf(body []byte) string {
	var named struct {
		OrderID  jsontext.Value `json:"order_id"`
		Location string         `json:"location_ref_id"`
		Order    struct {
			Details struct {
				ID jsontext.Value `json:"id"`
			} `json:"details"`
		} `json:"order"`
	}
	if json.Unmarshal(body, &named, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	for _, id := range []jsontext.Value{named.OrderID, named.Order.Details.ID} {
		if len(id) > 0 {
			return fmt.Sprintf("order %s", bytes.Trim(id, `"`))
		}
	}
	if named.Location != "" {
		return "location " + named.Location
	}
	return ""
}

// Submitted is the body of a callback without what the hub adds to it: the
// reference, the counts, and the outcome of each object. What is no such body
// stays as it is.
func Submitted(callback []byte) []byte {
	var all map[string]jsontext.Value
	if json.Unmarshal(callback, &all) != nil {
		return callback
	}
	for _, added := range []string{"reference", "stats", "location_ref_id", "warnings"} {
		delete(all, added)
	}
	for name, value := range all {
		var objects []map[string]jsontext.Value
		if value.Kind() != '[' || json.Unmarshal(value, &objects) != nil {
			continue
		}
		for _, o := range objects {
			delete(o, "upipr_status")
			delete(o, "warnings")
			delete(o, "platform_findings")
		}
		if encoded, err := json.Marshal(objects); err == nil {
			all[name] = encoded
		}
	}
	if encoded, err := json.Marshal(all); err == nil {
		return encoded
	}
	return callback
}
