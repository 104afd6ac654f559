package console

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SubjectOf returns what the body of an event is about: an order or a location. It distinguishes events of one type,
// and is "" if the body names neither.
func SubjectOf(body []byte) string {
	var event struct {
		OrderID  jsontext.Value `json:"order_id"`
		Location string         `json:"location_ref_id"`
		Order    struct {
			Details struct {
				ID jsontext.Value `json:"id"`
			} `json:"details"`
		} `json:"order"`
	}
	if json.Unmarshal(body, &event, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	for _, id := range []jsontext.Value{event.OrderID, event.Order.Details.ID} {
		if len(id) > 0 {
			return fmt.Sprintf("order %s", bytes.Trim(id, `"`))
		}
	}
	if event.Location != "" {
		return "location " + event.Location
	}
	return ""
}

// Submitted returns the body of a callback without what the hub adds to it: the reference, the counts, and the
// outcome of each object. It returns any other body unchanged.
func Submitted(callback []byte) []byte {
	var members map[string]jsontext.Value
	if json.Unmarshal(callback, &members) != nil {
		return callback
	}
	for _, added := range []string{"reference", "stats", "location_ref_id", "warnings"} {
		delete(members, added)
	}
	for name, value := range members {
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
			members[name] = encoded
		}
	}
	if encoded, err := json.Marshal(members); err == nil {
		return encoded
	}
	return callback
}
