package store

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Callback is the body of the store_creation event: the reference of the
// request, the counts, and the submitted stores as they came, each with its
// upipr_status (spec, Callbacks tied to operations).
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

// appendOutcome appends a submitted object with upipr_status, and the warnings if
// there are any, as its last members. An object that was submitted with these (a
// callback sent back as it came) loses them first.
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
	body = append(body, raw[:len(raw)-1]...) // without the closing brace; ref_id is always there, so a comma is due
	body = append(body, `,"upipr_status":`...)
	if body = append(body, encoded...); len(outcome.Warnings) > 0 {
		told, err := json.Marshal(outcome.Warnings)
		if err != nil {
			return nil, err
		}
		body = append(append(body, `,"warnings":`...), told...)
	}
	return append(body, '}'), nil
}

// stripCallbackFields returns an object without the members that an earlier callback added.
func stripCallbackFields(raw jsontext.Value) (jsontext.Value, error) {
	// A name can be written with escapes, so only an object with none of these surely has them not.
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
