package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Names of the headers of the Standard Webhooks scheme and of the event type.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
	HeaderEventType = "X-Event-Type"
)

// Sign computes the signature header of a delivery by the Standard Webhooks
// scheme: version 1, HMAC-SHA256 over id, timestamp in seconds and body, joined
// by dots. It fails only on a secret that NewSecret did not make.
func Sign(secret string, id core.ID, at time.Time, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return "", fmt.Errorf("signing secret is not %s and base64", secretPrefix)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id.String() + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
