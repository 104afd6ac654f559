package relay

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// CallbackVerification specifies how a plugin's aggregator authenticates its requests: by one header or query
// parameter.
type CallbackVerification struct {
	Scheme    VerificationScheme
	Header    string           // in lower case
	Query     string           // the query parameter, if there is no Header
	Part      string           // of an HMAC: the part of the header that has it; "": the header is not in parts
	Prefix    string           // precedes the value that Scheme specifies
	Secret    string           // name of the platform's secret
	Signature signature.Scheme // of an HMAC
	Timestamp Timestamp
	Nonce     string // the header with the nonce, in lower case; "": none
	Token     TokenRule
	Tolerance time.Duration
	// StoreID returns the aggregator's id of the store that a request at the shared URL is about, or "". nil: the kind
	// is not received there.
	StoreID func(InboundCallback) string
}

// VerificationScheme specifies the value of a proof's header.
type VerificationScheme string

// The schemes of proofs.
const (
	SchemeToken VerificationScheme = "token" // the secret
	SchemeBasic VerificationScheme = "basic" // the secret, which is name:password, in base64 (RFC 7617)
	SchemeHMAC  VerificationScheme = "hmac"  // an HMAC with the secret
	SchemeJWT   VerificationScheme = "jwt"   // a JSON Web Token, which Tokens verifies
)

// VerificationError states why a request is not authentic. Its code ends the text.
type VerificationError struct{ Code, Text string }

// Error returns the text and the code.
func (e *VerificationError) Error() string { return e.Text + " (" + e.Code + ")" }

// The codes of verification errors.
const (
	CodeSecretUnset       = "secret_unset"
	CodeCredentialMissing = "credential_missing"
	CodeCredentialWrong   = "credential_wrong"
	CodeTimestampInvalid  = "timestamp_invalid"
	CodeTimestampOutside  = "timestamp_outside_tolerance"
	CodeNonceMissing      = "nonce_missing"
	CodeNonceTooLong      = "nonce_too_long"
	CodeNonceInvalid      = "nonce_invalid"
	CodeNonceReplayed     = "nonce_replayed"
)

func unverified(code, format string, args ...any) error {
	return &VerificationError{code, fmt.Sprintf(format, args...)}
}

// credentialPlace names where the credential is, for people.
func (p CallbackVerification) credentialPlace() string {
	if p.Query != "" {
		return "query parameter " + p.Query
	}
	return "header " + p.Header
}

// check returns why a request is not authentic. It compares values in constant time.
func (p CallbackVerification) check(k InboundCallback, secret string, now time.Time) error {
	shown := k.Headers[p.Header]
	if p.Query != "" {
		shown = k.Query[p.Query]
	}
	switch {
	case secret == "":
		return unverified(CodeSecretUnset, "the platform has no secret %q", p.Secret)
	case shown == "":
		return unverified(CodeCredentialMissing, "the %s is missing", p.credentialPlace())
	}
	matches := false
	if p.Scheme == SchemeHMAC {
		at, err := p.Timestamp.check(k, p.Tolerance, now)
		if err != nil {
			return err
		}
		if err := p.checkNonce(k); err != nil {
			return err
		}
		matches = p.isSigned(p.Signature.MAC([]byte(secret), p.signed(k, at)), shown)
	} else {
		value, prefixed := p.cutPrefix(shown)
		matches = equalConstantTime(value, p.expected(secret)) && prefixed
	}
	if !matches {
		return unverified(CodeCredentialWrong, "the %s is wrong", p.credentialPlace())
	}
	return nil
}

// cutPrefix returns the value behind the prefix, and whether there is one. The names of schemes, such as Bearer, are
// case-insensitive.
func (p CallbackVerification) cutPrefix(shown string) (value string, prefixed bool) {
	n := min(len(shown), len(p.Prefix))
	return shown[n:], strings.EqualFold(shown[:n], p.Prefix)
}

// expected returns the expected value without the prefix, except for an HMAC.
func (p CallbackVerification) expected(secret string) string {
	if p.Scheme == SchemeBasic {
		return base64.StdEncoding.EncodeToString([]byte(secret))
	}
	return secret
}

// signed returns what an HMAC can cover of a request, whose timestamp is given as sent.
func (p CallbackVerification) signed(k InboundCallback, timestamp string) signature.Request {
	return signature.Request{Method: k.Method, Path: k.Path, Query: k.RawQuery, Parameters: k.Query,
		Headers: k.Headers, Timestamp: timestamp, Nonce: k.Headers[p.Nonce], Body: k.Body}
}

// isSigned reports whether a credential, or one of its parts, is an HMAC.
func (p CallbackVerification) isSigned(mac []byte, shown string) bool {
	values := []string{shown}
	if p.Part != "" {
		values = partsOf(shown, p.Part)
	}
	signed := false
	for _, value := range values {
		value, prefixed := p.cutPrefix(value)
		signed = hmac.Equal(p.decode(value), mac) && prefixed || signed
	}
	return signed
}

// base64Alphabet converts base64 of any kind to the standard alphabet.
var base64Alphabet = strings.NewReplacer("-", "+", "_", "/")

// decode returns the bytes of an HMAC, or nil if it is malformed. Base64 may have either alphabet, with or without
// padding.
func (p CallbackVerification) decode(value string) []byte {
	var mac []byte
	var err error
	if p.Signature.Encoding == signature.Base64 {
		mac, err = base64.RawStdEncoding.Strict().DecodeString(base64Alphabet.Replace(strings.TrimRight(value, "=")))
	} else {
		mac, err = hex.DecodeString(value)
	}
	if err != nil {
		return nil
	}
	return mac
}

// equalConstantTime compares two texts in constant time, without revealing their lengths.
func equalConstantTime(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
