package action

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Record is an action as read back. Times are epoch milliseconds.
type Record struct {
	Reference       core.ID   `json:"reference"`
	Action          string    `json:"action"`
	OrderID         int64     `json:"order_id"`
	Platform        string    `json:"platform"`
	PlatformOrderID string    `json:"platform_order_id"`
	State           string    `json:"state"`            // waiting, pending, done, failed or skipped
	Message         string    `json:"message,omitzero"` // why, in plain words
	CustomerPhone   string    `json:"customer_phone,omitzero"`
	Created         int64     `json:"created"`
	Finished        int64     `json:"finished,omitzero"`
	Attempts        []Attempt `json:"attempts"`
}

// Attempt is one try to send an action.
type Attempt struct {
	At         int64  `json:"at"`
	Status     int    `json:"status"` // 0 when there was no answer
	ErrorClass string `json:"error_class,omitzero"`
	Error      string `json:"error,omitzero"`
}

// The outcomes that a feature_action event tells.
const (
	statusDone   = "done"
	statusFailed = "failed"
)

// EventBody is the body of a feature_action event: what an action that asks for the
// customer's contact has brought, or why it brought none (spec, Callbacks tied to
// operations).
func EventBody(r Record) ([]byte, error) {
	status := statusFailed
	if r.State == statusDone {
		status = statusDone
	}
	return json.Marshal(struct {
		Reference       core.ID        `json:"reference"`
		OrderID         int64          `json:"order_id"`
		CustomerPhone   string         `json:"customer_phone"`
		Platform        string         `json:"platform"`
		Action          string         `json:"action"`
		PlatformOrderID jsontext.Value `json:"platform_order_id"`
		Status          string         `json:"status"`
		Message         string         `json:"message"`
	}{r.Reference, r.OrderID, r.CustomerPhone, r.Platform, r.Action, identifierJSON(r.PlatformOrderID), status, r.Message})
}

// maxNumberDigits is how many digits an identifier may have as a number: those of a 64-bit one.
const maxNumberDigits = 18

// identifierJSON is a number where the text is one, else the text.
func identifierJSON(text string) jsontext.Value {
	number := len(text) > 0 && len(text) <= maxNumberDigits && (text[0] != '0' || len(text) == 1)
	for _, digit := range text {
		number = number && digit >= '0' && digit <= '9'
	}
	if number {
		return jsontext.Value(text)
	}
	quoted, _ := jsontext.AppendQuote(nil, text) // stored texts are valid UTF-8
	return quoted
}
