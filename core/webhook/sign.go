package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
)

// Names of the headers of the Standard Webhooks scheme and of the event type.
const (
	HeaderID          = "Webhook-Id"
	HeaderTimestamp   = "Webhook-Timestamp"
	HeaderSignature   = "Webhook-Signature"
	HeaderEventType   = "X-Event-Type"
	HeaderEventTypeID = "X-Event-Type-Id" // absent for event types without a numeric id
	HeaderTest        = "X-Event-Test"    // "true": the event is a sample, sent on request
	HeaderTrace       = "Traceparent"     // W3C Trace Context
)

// Sign computes the signature header of a delivery by the Standard Webhooks scheme, version 1. It is the HMAC-SHA256
// of id, timestamp in seconds and body, joined by dots. It fails only for a secret that NewSecret did not create.
func Sign(secret string, id core.ID, at time.Time, body []byte) (string, error) {
	key, err := signingKey(secret)
	if err != nil {
		return "", err
	}
	return signature(key, id.String(), strconv.FormatInt(at.Unix(), 10), body), nil
}

// signature is version 1 of the scheme: HMAC-SHA256 over the three parts.
func signature(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
