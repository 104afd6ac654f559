package receiver

import (
	"crypto/subtle"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Tolerance is how far the timestamp of a delivery may be from the clock
// (Standard Webhooks, Verifying signatures).
const Tolerance = 5 * time.Minute

// Verdict is what came of verifying a signature.
type Verdict struct {
	Verified bool
	By       string // the name of the secret that made it
	Reason   string // why it is not verified
	Missing  bool   // there was nothing to verify
}

// signature is the headers of the Standard Webhooks scheme.
type signature struct{ id, timestamp, signatures string }

// verify checks the signature over the whole body against every known secret.
func (s signature) verify(secrets map[string]string, now time.Time, body []byte) Verdict {
	if s.signatures == "" || s.timestamp == "" || s.id == "" {
		return Verdict{Missing: true, Reason: "none came along"}
	}
	var id core.ID
	if err := id.UnmarshalText([]byte(s.id)); err != nil || id.String() != s.id {
		return Verdict{Reason: "the webhook-id is not one of this hub"}
	}
	sent, err := strconv.ParseInt(s.timestamp, 10, 64)
	if err != nil {
		return Verdict{Reason: "the timestamp is not a number of seconds"}
	}
	at := time.Unix(sent, 0)
	if age := now.Sub(at); age > Tolerance || age < -Tolerance {
		return Verdict{Reason: "the timestamp is more than 5 minutes off"}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		expected, err := webhook.Sign(secrets[name], id, at, body)
		if err != nil {
			continue // not a secret: it cannot have made the signature
		}
		for given := range strings.FieldsSeq(s.signatures) {
			if subtle.ConstantTimeCompare([]byte(given), []byte(expected)) == 1 {
				return Verdict{Verified: true, By: name}
			}
		}
	}
	return Verdict{Reason: "no known secret made it"}
}
