package action

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Record is a stored action with its result, as the API returns it. Times are epoch milliseconds.
type Record struct {
	Reference       core.ID   `json:"reference"`
	Action          string    `json:"action"`
	OrderID         int64     `json:"order_id"`
	Platform        string    `json:"platform"`
	PlatformOrderID string    `json:"platform_order_id"`
	State           string    `json:"state"`            // waiting, pending, done, failed or skipped
	Message         string    `json:"message,omitzero"` // the reason, for people
	CustomerPhone   string    `json:"customer_phone,omitzero"`
	Created         int64     `json:"created"`
	Finished        int64     `json:"finished,omitzero"`
	Attempts        []Attempt `json:"attempts"`

	Parameters jsontext.Value `json:"parameters,omitzero"` // of an action that is not specified
}

// Attempt is one attempt to send an action.
type Attempt struct {
	At         int64  `json:"at"`
	Status     int    `json:"status"` // 0 without a response
	ErrorClass string `json:"error_class,omitzero"`
	Error      string `json:"error,omitzero"`
}

// The statuses in a feature_action event.
const (
	statusDone   = "done"
	statusFailed = "failed"
)

// EventBody returns the body of a feature_action event: the customer's contact, or why it is not available.
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
	}{r.Reference, r.OrderID, r.CustomerPhone, r.Platform, r.Action,
		identifierJSON(r.PlatformOrderID), status, r.Message})
}

// maxNumberDigits is the maximum length of an identifier that is encoded as a number: it must fit into 64 bits.
const maxNumberDigits = 18

// identifierJSON encodes an identifier as a number if it is one, or else as a string.
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
