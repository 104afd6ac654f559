package relay

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// CallbackVerification specifies how a plugin's aggregator authenticates its requests: by one header.
type CallbackVerification struct {
	Scheme    VerificationScheme
	Header    string // in lower case
	Prefix    string // precedes the value that Scheme specifies
	Secret    string // name of the platform's secret
	Base64    bool   // of an HMAC: not hexadecimal
	Timestamp string // the timestamp's header, in lower case, if it is signed before "." and the body; "": body only
	Tolerance time.Duration
}

// VerificationScheme specifies the value of a proof's header.
type VerificationScheme string

// The schemes of proofs.
const (
	SchemeToken VerificationScheme = "token" // the secret
	SchemeBasic VerificationScheme = "basic" // the secret, which is name:password, in base64 (RFC 7617)
	SchemeHMAC  VerificationScheme = "hmac"  // the HMAC-SHA256 with the secret
)

// check returns why a request is not authentic. It compares values in constant time.
func (p CallbackVerification) check(headers map[string]string, body []byte, secret string, now time.Time) error {
	shown := headers[p.Header]
	switch {
	case secret == "":
		return fmt.Errorf("the platform has no secret %q", p.Secret)
	case shown == "":
		return fmt.Errorf("the header %s is missing", p.Header)
	}
	signed := body
	if p.Timestamp != "" {
		at := headers[p.Timestamp]
		seconds, err := strconv.ParseInt(at, 10, 64)
		if away := now.Sub(time.Unix(seconds, 0)).Abs(); err != nil || away > p.Tolerance {
			return fmt.Errorf("the header %s must be a time in seconds since 1970, at most %s from now", p.Timestamp,
				p.Tolerance)
		}
		signed = append([]byte(at+"."), body...)
	}
	n := min(len(shown), len(p.Prefix))
	value := shown[n:]
	if p.Scheme == SchemeHMAC && !p.Base64 {
		value = strings.ToLower(value)
	}
	// The names of schemes, such as Bearer, are case-insensitive.
	if !strings.EqualFold(shown[:n], p.Prefix) || !equalConstantTime(value, p.expected(secret, signed)) {
		return fmt.Errorf("the header %s is wrong", p.Header)
	}
	return nil
}

// expected returns the expected header value, without the prefix.
func (p CallbackVerification) expected(secret string, signed []byte) string {
	switch p.Scheme {
	case SchemeBasic:
		return base64.StdEncoding.EncodeToString([]byte(secret))
	case SchemeHMAC:
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(signed)
		if p.Base64 {
			return base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
		return hex.EncodeToString(mac.Sum(nil))
	default:
		return secret
	}
}

// equalConstantTime compares two texts in constant time, without revealing their lengths.
func equalConstantTime(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
