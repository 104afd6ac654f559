package receiver

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Verification is the result of verifying a signature.
type Verification struct {
	Verified bool
	By       string // name of the secret
	Reason   string // why verification failed
	Missing  bool   // the request has no signature
}

// verify checks the signature of the complete body against all known secrets.
func verify(signed webhook.Signature, secrets map[string]string, now time.Time, body []byte) Verification {
	var id core.ID
	if err := id.UnmarshalText([]byte(signed.ID)); signed.ID != "" && (err != nil || id.String() != signed.ID) {
		return Verification{Reason: "the webhook-id is not one of this hub"}
	}
	names := slices.Sorted(maps.Keys(secrets))
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = secrets[name]
	}
	switch by, err := webhook.Verify(texts, signed, body, now); {
	case errors.Is(err, webhook.ErrUnsigned):
		return Verification{Missing: true, Reason: "none came along"}
	case err != nil:
		return Verification{Reason: err.Error()}
	default:
		return Verification{Verified: true, By: names[by]}
	}
}
