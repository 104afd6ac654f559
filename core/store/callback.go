package store

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Callback returns the body of the store_creation event. It contains the reference of the request, the counts, and the
// submitted stores with their upipr_status.
func Callback(reference core.ID, request Request, plan Plan) ([]byte, error) {
	size := 200
	for _, submitted := range request.Stores {
		size += len(submitted.Raw) + 120
	}
	body := make([]byte, 0, size)
	body = append(body, `{"reference":"`...)
	body = append(body, reference.String()...)
	body = append(body, `","stats":`...)
	stats, err := json.Marshal(plan.Stats)
	if err != nil {
		return nil, err
	}
	body = append(append(body, stats...), `,"stores":[`...)
	for i, submitted := range request.Stores {
		if i > 0 {
			body = append(body, ',')
		}
		if body, err = appendOutcome(body, submitted.Raw, plan.Outcomes[i]); err != nil {
			return nil, err
		}
	}
	return append(body, "]}"...), nil
}

// appendOutcome appends a submitted object, followed by upipr_status and any warnings. It drops these members from the
// submitted object, because some clients send a callback back.
func appendOutcome(body []byte, raw jsontext.Value, outcome Outcome) ([]byte, error) {
	raw, err := stripCallbackFields(raw)
	if err != nil {
		return nil, err
	}
	status := struct {
		Action  string `json:"action"`
		ID      *int64 `json:"id,omitempty"`
		Error   bool   `json:"error"`
		Message string `json:"err_msg,omitempty"`
	}{Action: outcome.Action, Error: outcome.Message != "", Message: outcome.Message}
	if outcome.ID != 0 {
		status.ID = &outcome.ID
	}
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	body = append(body, raw[:len(raw)-1]...) // without the brace; ref_id precedes, so a comma is due
	body = append(body, `,"upipr_status":`...)
	if body = append(body, encoded...); len(outcome.Warnings) > 0 {
		warnings, err := json.Marshal(outcome.Warnings)
		if err != nil {
			return nil, err
		}
		body = append(append(body, `,"warnings":`...), warnings...)
	}
	return append(body, '}'), nil
}

// stripCallbackFields returns the object without the members of an earlier callback.
func stripCallbackFields(raw jsontext.Value) (jsontext.Value, error) {
	// A name may be spelled with escapes, so an object with a backslash is decoded.
	if !bytes.Contains(raw, []byte("upipr_status")) && !bytes.Contains(raw, []byte("warnings")) &&
		!bytes.ContainsRune(raw, '\\') {
		return raw, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	before := len(members)
	delete(members, "upipr_status")
	delete(members, "warnings")
	if len(members) == before {
		return raw, nil
	}
	return json.Marshal(members, json.Deterministic(true))
}
