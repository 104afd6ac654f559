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

// Proof is how the requests of an aggregator show that they are genuine, as its
// plugin says: by one header.
type Proof struct {
	Scheme    ProofScheme
	Header    string // in lower case
	Prefix    string // before what Scheme says
	Secret    string // name of the platform's secret
	Base64    bool   // of an HMAC: not hexadecimal
	Timestamp string // of an HMAC of timestamp, "." and body: the header of the timestamp, in lower case; "": of the body alone
	Tolerance time.Duration
}

// ProofScheme says what stands in the header of a proof.
type ProofScheme string

// The schemes of proofs.
const (
	ProofToken ProofScheme = "token" // the secret
	ProofBasic ProofScheme = "basic" // the secret, which is name:password, in base64 (RFC 7617)
	ProofHMAC  ProofScheme = "hmac"  // the HMAC-SHA256 by the secret
)

// check tells why a request does not show that it is genuine. It takes the same
// time wherever the proof differs from the right one.
func (p Proof) check(headers map[string]string, body []byte, secret string, now time.Time) error {
	shown := headers[p.Header]
	switch {
	case secret == "":
		return fmt.Errorf("the platform has no secret %q", p.Secret)
	case shown == "":
		return fmt.Errorf("there is no header %s", p.Header)
	}
	signed := body
	if p.Timestamp != "" {
		at := headers[p.Timestamp]
		seconds, err := strconv.ParseInt(at, 10, 64)
		if away := now.Sub(time.Unix(seconds, 0)).Abs(); err != nil || away > p.Tolerance {
			return fmt.Errorf("the header %s must be a time in seconds since 1970, at most %s from now", p.Timestamp, p.Tolerance)
		}
		signed = append([]byte(at+"."), body...)
	}
	n := min(len(shown), len(p.Prefix))
	given := shown[n:]
	if p.Scheme == ProofHMAC && !p.Base64 {
		given = strings.ToLower(given)
	}
	// Letter case does not matter in names of schemes such as Bearer.
	if !strings.EqualFold(shown[:n], p.Prefix) || !same(given, p.right(secret, signed)) {
		return fmt.Errorf("the header %s is not right", p.Header)
	}
	return nil
}

// right is what stands behind the prefix of a genuine request's header.
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

// same compares two texts in a time that tells nothing of them, their lengths included.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
