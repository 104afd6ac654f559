package webhook

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is the greatest difference between a delivery's timestamp and the verifier's clock (Standard Webhooks,
// Verifying signatures).
const Tolerance = 5 * time.Minute

// ErrUnsigned is the error of Verify if there is no signature.
var ErrUnsigned = errors.New("not signed: webhook-id, webhook-timestamp or webhook-signature is missing")

// Signature holds the Standard Webhooks headers of a received delivery.
type Signature struct {
	ID         string
	Timestamp  string
	Signatures string // separated by spaces; more than one during a rotation
}

// SignatureOf returns the signature in the headers of a delivery.
func SignatureOf(h http.Header) Signature {
	return Signature{ID: h.Get(HeaderID), Timestamp: h.Get(HeaderTimestamp), Signatures: h.Get(HeaderSignature)}
}

// Verify checks a delivery's signature over its whole body, as its receiver does. It returns the index of the first
// secret that matches one of the signatures. Otherwise it returns an error with the reason, which names no secret.
func Verify(secrets []string, s Signature, body []byte, now time.Time) (int, error) {
	if s.ID == "" || s.Timestamp == "" || s.Signatures == "" {
		return 0, ErrUnsigned
	}
	sent, err := strconv.ParseInt(s.Timestamp, 10, 64)
	if err != nil {
		return 0, errors.New("the timestamp is not a number of seconds")
	}
	if age := now.Sub(time.Unix(sent, 0)); age > Tolerance || age < -Tolerance {
		return 0, fmt.Errorf("the timestamp is more than %.0f minutes off", Tolerance.Minutes())
	}
	for i, secret := range secrets {
		key, err := signingKey(secret)
		if err != nil {
			continue // not a secret: it cannot have made the signature
		}
		if s.has(signature(key, s.ID, s.Timestamp, body)) {
			return i, nil
		}
	}
	return 0, errors.New("the signature matches no known secret")
}

// has reports whether expected is among the signatures.
func (s Signature) has(expected string) bool {
	for candidate := range strings.FieldsSeq(s.Signatures) {
		if hmac.Equal([]byte(candidate), []byte(expected)) {
			return true
		}
	}
	return false
}

// CheckSecret checks that a text can be a signing secret: whsec_ and 24 to 64 bytes in base64 (Standard Webhooks,
// Signature scheme). The error does not repeat the text.
func CheckSecret(secret string) error {
	if !strings.HasPrefix(secret, secretPrefix) {
		return fmt.Errorf("a signing secret must begin with %s", secretPrefix)
	}
	key, err := signingKey(secret)
	if err != nil {
		return err
	}
	if len(key) < 24 || len(key) > 64 {
		return fmt.Errorf("a signing secret must have 24 to 64 bytes, not %d",
			len(key))
	}
	return nil
}

// signingKey decodes the key of a secret.
func signingKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("a signing secret must be %s and base64", secretPrefix)
	}
	return key, nil
}
