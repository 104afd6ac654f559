package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// listenLine is a delivery in the JSON form.
type listenLine struct {
	ReceivedAt time.Time       `json:"received_at"`
	EventType  string          `json:"event_type"`
	WebhookID  string          `json:"webhook_id"`
	Attempt    int             `json:"attempt,omitempty"`
	Repeated   bool            `json:"repeated"`
	Size       int             `json:"size"`
	Signature  string          `json:"signature"` // verified, refused, not checked
	Secret     int             `json:"secret,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Status     int             `json:"status,omitempty"`  // of the answer
	Silence    listenSilence   `json:"silence,omitempty"` // instead of an answer
	Remark     string          `json:"remark,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
	BodyText   string          `json:"body_text,omitempty"`    // of a body that is no JSON, or too long
	Clipped    bool            `json:"body_clipped,omitempty"` // body_text is its beginning
}

// jsonLine is the delivery in its JSON form, fit for a terminal: what is not
// printable stands in strings alone, where its escape means the same.
func jsonLine(d listenDelivery, answer listenAnswer, withBody bool) []byte {
	line := listenLine{
		ReceivedAt: d.at.UTC(), EventType: d.event, WebhookID: d.id, Attempt: d.attempt, Repeated: d.attempt > 1, Size: d.size,
		Signature: "not checked", Status: answer.status, Silence: answer.silence, Remark: answer.remark,
	}
	switch v := d.verdict; {
	case v.err != nil:
		line.Signature, line.Reason = "refused", v.err.Error()
	case v.checked:
		line.Signature, line.Secret = "verified", v.secret+1
	}
	if withBody {
		line.Clipped = len(d.body) > listenShownBody
		if !line.Clipped && json.Valid(d.body) {
			line.Body = d.body
		} else {
			line.BodyText = strings.ToValidUTF8(string(d.body[:min(len(d.body), listenShownBody)]), "\uFFFD")
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil { // a body that is valid JSON encodes
		return fmt.Appendf(nil, "{\"error\":%q}\n", err.Error())
	}
	return []byte(printable(text.String()))
}
