package receiver

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Verification is what came of verifying a signature.
type Verification struct {
	Verified bool
	By       string // the name of the secret that made it
	Reason   string // why it is not verified
	Missing  bool   // there was nothing to verify
}

// verify checks the signature over the whole body against every known secret.
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
