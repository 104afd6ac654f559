// Package jwks verifies JSON Web Tokens of aggregators (RFC 7519) by their key sets (RFC 7517).
package jwks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

const (
	keyLifetime   = 10 * time.Minute // of a fetched key set
	staleLifetime = 24 * time.Hour   // of one that cannot be fetched again
	fetchInterval = 30 * time.Second // between two attempts, also for a token with an unknown key
	leeway        = time.Minute      // between the clocks of the hub and the issuer
	maxSets       = 1000
	maxKeys       = 100 // of a set
	maxTried      = 4   // of those that can have signed a token
	minRSABits    = 2048
	maxRSABits    = 8192 // a verification takes time for each bit of the key and of its exponent
	maxExponent   = 1<<16 + 1
)

// algorithms are the allowed algorithms. A symmetric one would let everyone sign who knows the public keys.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}

// Verifier verifies tokens (relay.Tokens). It caches key sets.
type Verifier struct {
	sender relay.Sender
	clock  core.Clock
	mu     sync.Mutex
	sets   map[string]*keySet // by URL
}

// New returns a Verifier. The sender bounds the time and size of a fetch, and where it may connect to.
func New(sender relay.Sender, clock core.Clock) *Verifier {
	return &Verifier{sender: sender, clock: clock, sets: map[string]*keySet{}}
}

// keySet is a cached key set. It has at most one fetch at a time, and the mutex is free meanwhile.
type keySet struct {
	mu        sync.Mutex
	keys      []jose.JSONWebKey
	fetchedAt time.Time // zero: never
	triedAt   time.Time
	pending   *fetch // nil: none
}

// fetch is a fetch of a key set. Its error is set when done is closed.
type fetch struct {
	done chan struct{}
	err  error
}

// VerifyToken implements relay.Tokens.
func (v *Verifier) VerifyToken(ctx context.Context, token string, expected relay.ExpectedToken) error {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		if errors.As(err, new(*jose.ErrUnexpectedSignatureAlgorithm)) {
			return rejected(relay.CodeTokenAlgorithm, "the token must be signed by RS256 or ES256")
		}
		return rejected(relay.CodeTokenMalformed, "the header has no signed JSON Web Token")
	}
	keys, err := v.keysFor(ctx, expected.KeySet, parsed.Headers[0])
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return rejected(relay.CodeTokenKey, "no key of the key set has the token's kid and algorithm")
	}
	for _, key := range keys {
		var claims jwt.Claims
		if parsed.Claims(key.Key, &claims) == nil {
			return checkClaims(claims, expected, v.clock.Now())
		}
	}
	return rejected(relay.CodeTokenSignature, "the token's signature is wrong")
}

func rejected(code, text string) error { return &relay.VerificationError{Code: code, Text: text} }

func checkClaims(claims jwt.Claims, expected relay.ExpectedToken, now time.Time) error {
	if claims.Expiry == nil {
		return rejected(relay.CodeTokenTime, "the token has no expiry")
	}
	err := claims.ValidateWithLeeway(jwt.Expected{Issuer: expected.Issuer,
		AnyAudience: jwt.Audience{expected.Audience}, Time: now}, leeway)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return rejected(relay.CodeTokenIssuer, "the token is of another issuer")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return rejected(relay.CodeTokenAudience, "the token is for another audience")
	}
	return rejected(relay.CodeTokenTime, "the token has expired, or is not valid yet")
}

// keysFor returns the keys that can have signed a token with a header. It fetches the key set if it is old, or has no
// such key. Only a caller without a key waits. It gets none if the set that it fetched has none.
func (v *Verifier) keysFor(ctx context.Context, request relay.Request,
	header jose.Header) ([]jose.JSONWebKey, error) {
	set, now := v.set(request.URL), v.clock.Now()
	keys, pending, ours := set.find(header, now, func() relay.Attempt {
		return v.sender.Send(context.WithoutCancel(ctx), request)
	})
	if len(keys) > 0 {
		return keys, nil
	}
	if pending == nil {
		return nil, set.unavailable(now, nil)
	}
	select {
	case <-pending.done:
	case <-ctx.Done():
		return nil, set.unavailable(now, ctx.Err())
	}
	if pending.err != nil {
		return nil, set.unavailable(now, pending.err)
	}
	set.mu.Lock()
	keys = set.keysFor(header)
	set.mu.Unlock()
	if len(keys) == 0 && !ours { // the issuer may have added the key during the fetch
		return nil, set.unavailable(now, nil)
	}
	return keys, nil
}

// find returns the usable keys for a header. If it returns none, or an old set's, it starts a fetch unless one is
// pending or was just tried. It returns the pending fetch, and whether it started it.
func (s *keySet) find(header jose.Header, now time.Time,
	send func() relay.Attempt) (keys []jose.JSONWebKey, pending *fetch, ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age, tried := now.Sub(s.fetchedAt), now.Sub(s.triedAt) // negative if the clock was set back
	if !s.fetchedAt.IsZero() && age < staleLifetime {
		keys = s.keysFor(header)
	}
	if age >= 0 && age < keyLifetime && len(keys) > 0 {
		return keys, nil, false
	}
	if s.pending == nil && (s.triedAt.IsZero() || tried < 0 || tried >= fetchInterval) {
		s.triedAt, s.pending, ours = now, &fetch{done: make(chan struct{})}, true
		go s.fetch(s.pending, send, now) // ends with the deadline of the sender
	}
	return keys, s.pending, ours
}

// unavailable returns the error for a token whose key is not known yet. The next fetch is possible after its pause.
func (s *keySet) unavailable(now time.Time, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &core.Error{Code: core.Unavailable, Cause: cause,
		RetryAfter: min(max(fetchInterval-now.Sub(s.triedAt), time.Second), fetchInterval),
		Message:    "the hub does not have the key that verifies this request yet: resend it later"}
}

// set returns the key set of a URL. Above the limit it drops another one.
func (v *Verifier) set(url string) *keySet {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sets[url] == nil {
		for other := range v.sets {
			if len(v.sets) < maxSets {
				break
			}
			delete(v.sets, other)
		}
		v.sets[url] = &keySet{}
	}
	return v.sets[url]
}

// fetch replaces the keys. After an error it leaves them as they are.
func (s *keySet) fetch(pending *fetch, send func() relay.Attempt, now time.Time) {
	keys, err := fetchKeys(send)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.keys, s.fetchedAt = keys, now
	}
	pending.err, s.pending = err, nil
	close(pending.done)
}

func fetchKeys(send func() relay.Attempt) (keys []jose.JSONWebKey, err error) {
	defer func() {
		if p := recover(); p != nil { // the body is the issuer's
			err = fmt.Errorf("reading the key set: panic: %v\n%s", p, debug.Stack())
		}
	}()
	attempt := send()
	if attempt.ErrorClass != "" || attempt.Status != http.StatusOK {
		return nil, fmt.Errorf("the endpoint of the key set responded with %d %s", attempt.Status, attempt.Error)
	}
	return parse(attempt.ResponseBody)
}

// parse returns the usable keys of a key set. It skips others, such as those of newer algorithms.
func parse(body []byte) (keys []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the response is not a key set")
	}
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if len(keys) < maxKeys && json.Unmarshal(text, &key) == nil && algorithmOf(key) != "" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// algorithmOf returns the algorithm of the signatures that a key can verify, or "" for a key that is not allowed.
func algorithmOf(key jose.JSONWebKey) jose.SignatureAlgorithm {
	var algorithm jose.SignatureAlgorithm
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits >= minRSABits && bits <= maxRSABits && public.E <= maxExponent {
			algorithm = jose.RS256
		}
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P256() {
			algorithm = jose.ES256
		}
	}
	if !key.Valid() || key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != string(algorithm) {
		return ""
	}
	return algorithm
}

// keysFor returns the keys with the kid and the algorithm of a token. A token without a kid can have any of the first
// maxTried keys.
func (s *keySet) keysFor(header jose.Header) (keys []jose.JSONWebKey) {
	for _, key := range s.keys {
		if len(keys) < maxTried && string(algorithmOf(key)) == header.Algorithm &&
			(header.KeyID == "" || header.KeyID == key.KeyID) {
			keys = append(keys, key)
		}
	}
	return keys
}
