package listen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Line is a delivery in the JSON form.
type Line struct {
	ReceivedAt time.Time       `json:"received_at"`
	EventType  string          `json:"event_type"`
	WebhookID  string          `json:"webhook_id"`
	Attempt    int             `json:"attempt,omitempty"`
	Repeated   bool            `json:"repeated"`
	Size       int             `json:"size"`
	Signature  string          `json:"signature"` // verified, refused, not checked
	Secret     int             `json:"secret,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Status     int             `json:"status,omitempty"`  // of the response
	Silence    silence         `json:"silence,omitempty"` // instead of a response
	Remark     string          `json:"remark,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
	BodyText   string          `json:"body_text,omitempty"`    // of a body that is not JSON, or is too long
	Clipped    bool            `json:"body_clipped,omitempty"` // body_text is its beginning
}

// jsonLine returns the delivery as JSON that is safe for a terminal. Unprintable characters occur only in strings, so
// escaping them does not change the meaning.
func jsonLine(d delivery, resp response, withBody bool) []byte {
	line := Line{
		ReceivedAt: d.at.UTC(), EventType: d.event, WebhookID: d.id, Attempt: d.attempt, Repeated: d.attempt > 1,
		Size:      d.size,
		Signature: "not checked", Status: resp.status, Silence: resp.silence, Remark: resp.remark,
	}
	switch v := d.signature; {
	case v.err != nil:
		line.Signature, line.Reason = "refused", v.err.Error()
	case v.checked:
		line.Signature, line.Secret = "verified", v.secret+1
	}
	if withBody {
		line.Clipped = len(d.body) > shownBody
		if !line.Clipped && json.Valid(d.body) {
			line.Body = d.body
		} else {
			line.BodyText = strings.ToValidUTF8(string(d.body[:min(len(d.body), shownBody)]), "\uFFFD")
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil { // cannot fail for valid JSON
		return fmt.Appendf(nil, "{\"error\":%q}\n", err.Error())
	}
	return []byte(printable(text.String()))
}
