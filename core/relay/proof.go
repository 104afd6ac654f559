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

// Proof specifies how a plugin's aggregator authenticates its requests: by one header.
type Proof struct {
	Scheme    ProofScheme
	Header    string // in lower case
	Prefix    string // precedes the value that Scheme specifies
	Secret    string // name of the platform's secret
	Base64    bool   // of an HMAC: not hexadecimal
	Timestamp string // the timestamp's header, in lower case, if it is signed before "." and the body; "": body only
	Tolerance time.Duration
}

// ProofScheme specifies the value of a proof's header.
type ProofScheme string

// The schemes of proofs.
const (
	ProofToken ProofScheme = "token" // the secret
	ProofBasic ProofScheme = "basic" // the secret, which is name:password, in base64 (RFC 7617)
	ProofHMAC  ProofScheme = "hmac"  // the HMAC-SHA256 with the secret
)

// check returns why a request is not authentic. It compares values in constant time.
func (p Proof) check(headers map[string]string, body []byte, secret string, now time.Time) error {
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
	given := shown[n:]
	if p.Scheme == ProofHMAC && !p.Base64 {
		given = strings.ToLower(given)
	}
	// The names of schemes, such as Bearer, are case-insensitive.
	if !strings.EqualFold(shown[:n], p.Prefix) || !same(given, p.right(secret, signed)) {
		return fmt.Errorf("the header %s is wrong", p.Header)
	}
	return nil
}

// right returns the expected header value, without the prefix.
func (p Proof) right(secret string, signed []byte) string {
	switch p.Scheme {
	case ProofBasic:
		return base64.StdEncoding.EncodeToString([]byte(secret))
	case ProofHMAC:
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

// same compares two texts in constant time, without revealing their lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
