package relay

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"
)

// Timestamp specifies the timestamp of a signed request. Without header and parameter there is none.
type Timestamp struct {
	Header string // in lower case
	Part   string // the part of the header that has it; "": the header is not in parts
	Query  string // the query parameter, if there is no Header
	Format TimestampFormat
}

// maxParts bounds the parts of a header that are read.
const maxParts = 20

// partsOf returns the values of the parts with a name in a header such as t=1700000000,v1=5257a869,v1=a8e2f0b1.
func partsOf(header, name string) (values []string) {
	for n, part := range strings.SplitN(header, ",", maxParts+1) {
		given, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if given == name && n < maxParts {
			values = append(values, value)
		}
	}
	return values
}

// TimestampFormat is the format of a timestamp.
type TimestampFormat string

// The formats of timestamps.
const (
	Seconds      TimestampFormat = "seconds since 1970"
	Milliseconds TimestampFormat = "milliseconds since 1970"
	RFC3339      TimestampFormat = "RFC 3339"
)

// exists reports whether requests have a timestamp.
func (t Timestamp) exists() bool { return t.Header != "" || t.Query != "" }

// parse returns the time of a timestamp. A number has one form, so that a signed text has one meaning.
func (t Timestamp) parse(text string) (time.Time, error) {
	if t.Format == RFC3339 {
		return time.Parse(time.RFC3339Nano, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != text {
		err = strconv.ErrSyntax
	}
	if t.Format == Milliseconds {
		return time.UnixMilli(n), err
	}
	return time.Unix(n, 0), err
}

// sent returns a request's timestamp as sent.
func (t Timestamp) sent(k InboundCallback) string {
	if t.Query != "" {
		return k.Query[t.Query]
	}
	if t.Part == "" {
		return k.Headers[t.Header]
	}
	for _, value := range partsOf(k.Headers[t.Header], t.Part) {
		return value
	}
	return ""
}

// check returns a request's timestamp as sent, or why it is not valid now.
func (t Timestamp) check(k InboundCallback, tolerance time.Duration, now time.Time) (string, error) {
	if !t.exists() {
		return "", nil
	}
	place := "header " + t.Header
	if t.Query != "" {
		place = "query parameter " + t.Query
	}
	sent := t.sent(k)
	at, err := t.parse(sent)
	if err != nil {
		return "", unverified(CodeTimestampInvalid, "the %s must be a time in %s", place, t.Format)
	}
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return "", unverified(CodeTimestampOutside, "the %s must be at most %s from now", place, tolerance)
	}
	return sent, nil
}

// Nonce is the nonce of an authenticated request. The zero Nonce is none.
type Nonce struct {
	Hash  [sha256.Size]byte
	Until time.Time // how long it is remembered
}

// maxNonce bounds a nonce, in bytes.
const maxNonce = 256

// nonceCharacters are the characters of nonces. The plugin's description separates a nonce by others.
const nonceCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

func (p CallbackVerification) checkNonce(k InboundCallback) error {
	sent := k.Headers[p.Nonce]
	switch {
	case p.Nonce != "" && sent == "":
		return unverified(CodeNonceMissing, "the header %s is missing", p.Nonce)
	case p.Nonce != "" && len(sent) > maxNonce:
		return unverified(CodeNonceTooLong, "the header %s must have at most %d bytes", p.Nonce, maxNonce)
	case strings.Trim(sent, nonceCharacters) != "":
		return unverified(CodeNonceInvalid, "the header %s must have letters, digits, hyphens and underscores", p.Nonce)
	}
	return nil
}

// nonce returns the nonce of a request that check accepted. It is remembered for as long as the timestamp is valid, or
// for the tolerance without a timestamp. The hash is without the kind of request, because a kind can have two names.
func (p CallbackVerification) nonce(k InboundCallback, now time.Time) (n Nonce) {
	if p.Nonce == "" {
		return Nonce{}
	}
	from := now
	if at, err := p.Timestamp.parse(p.Timestamp.sent(k)); err == nil && p.Timestamp.exists() {
		from = at
	}
	return Nonce{Hash: sha256.Sum256([]byte(p.Secret + "\x00" + k.Headers[p.Nonce])), Until: from.Add(p.Tolerance)}
}
