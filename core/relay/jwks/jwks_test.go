package jwks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// fixedClock is a clock that a test sets.
type fixedClock struct {
	core.Clock
	now time.Time
}

func (c *fixedClock) Now() time.Time { return c.now }

// issuer publishes a key set.
type issuer struct {
	mu     sync.Mutex
	keys   []jose.JSONWebKey
	status int
	asked  int
	hold   chan struct{} // if it is not nil, responses wait until it is closed
}

// update changes the issuer.
func (i *issuer) update(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) Send(_ context.Context, r relay.Request) relay.Attempt {
	i.mu.Lock()
	i.asked++
	hold := i.hold
	i.mu.Unlock()
	if hold != nil {
		<-hold
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	body, _ := json.Marshal(jose.JSONWebKeySet{Keys: i.keys})
	return relay.Attempt{Status: i.status, ResponseBody: body}
}

var (
	rsaKey   = newRSAKey(2048)
	weakKey  = newRSAKey(1024)
	curveKey = newCurveKey(elliptic.P256())
	wideKey  = newCurveKey(elliptic.P384())
	now      = time.Unix(1_700_000_000, 0)
	expected = relay.ExpectedToken{KeySet: relay.Request{Method: "GET", URL: "https://keys.example/jwks"},
		Issuer: "https://issuer.example", Audience: "hub"}
)

func newRSAKey(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

func newCurveKey(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func newIssuer() *issuer {
	return &issuer{status: 200, keys: []jose.JSONWebKey{{Key: rsaKey.Public(), KeyID: "r1", Use: "sig"},
		{Key: curveKey.Public(), KeyID: "e1", Algorithm: "ES256"}, {Key: wideKey.Public(), KeyID: "e2"},
		{Key: []byte("a symmetric key of 32 bytes ....."), KeyID: "s1"},
		{Key: rsaKey.Public(), KeyID: "enc", Use: "enc"}}}
}

func claims(change func(c *jwt.Claims)) jwt.Claims {
	c := jwt.Claims{Issuer: expected.Issuer, Audience: jwt.Audience{"other", "hub"},
		Expiry: jwt.NewNumericDate(now.Add(time.Minute)), IssuedAt: jwt.NewNumericDate(now)}
	if change != nil {
		change(&c)
	}
	return c
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, kid string, c jwt.Claims) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(c).Serialize()
	require.NoError(t, err)
	return token
}

func TestTokenIsRejectedWithItsCode(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	valid := sign(t, jose.RS256, rsaKey, "r1", claims(nil))
	parts := strings.Split(valid, ".")
	payload, err := json.Marshal(claims(func(c *jwt.Claims) { c.Subject = "another" }))
	require.NoError(t, err)
	public := []byte("-----BEGIN PUBLIC KEY----- used as a shared secret")
	at := func(change func(c *jwt.Claims)) string { return sign(t, jose.RS256, rsaKey, "r1", claims(change)) }
	for name, c := range map[string]struct{ token, code string }{
		"RS256":                   {valid, ""},
		"ES256":                   {sign(t, jose.ES256, curveKey, "e1", claims(nil)), ""},
		"without a kid":           {sign(t, jose.ES256, curveKey, "", claims(nil)), ""},
		"just expired":            {at(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(now.Add(-leeway)) }), ""},
		"not a token":             {"s3cret", relay.CodeTokenMalformed},
		"nothing":                 {"", relay.CodeTokenMalformed},
		"in JSON":                 {`{"payload":"e30","signatures":[]}`, relay.CodeTokenMalformed},
		"none":                    {encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", relay.CodeTokenAlgorithm},
		"HS256 by the public key": {sign(t, jose.HS256, public, "r1", claims(nil)), relay.CodeTokenAlgorithm},
		"RS512":                   {sign(t, jose.RS512, rsaKey, "r1", claims(nil)), relay.CodeTokenAlgorithm},
		"ES384":                   {sign(t, jose.ES384, wideKey, "e2", claims(nil)), relay.CodeTokenAlgorithm},
		"a key for encryption":    {sign(t, jose.RS256, rsaKey, "enc", claims(nil)), relay.CodeTokenKey},
		"an unknown kid":          {sign(t, jose.RS256, rsaKey, "r9", claims(nil)), relay.CodeTokenKey},
		"the kid of another type": {sign(t, jose.RS256, rsaKey, "e1", claims(nil)), relay.CodeTokenKey},
		"another key":             {sign(t, jose.RS256, newRSAKey(2048), "r1", claims(nil)), relay.CodeTokenSignature},
		"another payload":         {parts[0] + "." + encode(payload) + "." + parts[2], relay.CodeTokenSignature},
		"another issuer":          {at(func(c *jwt.Claims) { c.Issuer += "/" }), relay.CodeTokenIssuer},
		"no issuer":               {at(func(c *jwt.Claims) { c.Issuer = "" }), relay.CodeTokenIssuer},
		"another audience": {at(func(c *jwt.Claims) { c.Audience = jwt.Audience{"other"} }),
			relay.CodeTokenAudience},
		"no audience": {at(func(c *jwt.Claims) { c.Audience = nil }), relay.CodeTokenAudience},
		"expired": {at(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(now.Add(-leeway - time.Second)) }),
			relay.CodeTokenTime},
		"no expiry": {at(func(c *jwt.Claims) { c.Expiry = nil }), relay.CodeTokenTime},
		"not yet valid": {at(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(now.Add(2 * leeway)) }),
			relay.CodeTokenTime},
	} {
		t.Run(name, func(t *testing.T) {
			err := New(newIssuer(), &fixedClock{now: now}).VerifyToken(t.Context(), c.token, expected)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			var refused *relay.VerificationError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.code, refused.Code)
		})
	}
}

func TestWeakKeyIsNotUsed(t *testing.T) {
	source := &issuer{status: 200, keys: []jose.JSONWebKey{{Key: weakKey.Public(), KeyID: "w"}}}
	signer := sign(t, jose.RS256, weakKey, "w", claims(nil))
	err := New(source, &fixedClock{now: now}).VerifyToken(t.Context(), signer, expected)
	require.ErrorContains(t, err, relay.CodeTokenKey)
}

func TestCostlyRSAKeyIsNotUsed(t *testing.T) {
	long := new(big.Int).SetBit(big.NewInt(1), maxRSABits, 1)
	allowed := &rsa.PublicKey{N: new(big.Int).Sub(long, big.NewInt(2)), E: maxExponent}
	require.Equal(t, jose.RS256, algorithmOf(jose.JSONWebKey{Key: allowed}))
	for _, key := range []*rsa.PublicKey{{N: long, E: maxExponent}, {N: rsaKey.N, E: maxExponent + 2}} {
		require.Empty(t, algorithmOf(jose.JSONWebKey{Key: key}))
	}
}

func TestTokenTriesFewKeys(t *testing.T) {
	source := &issuer{status: 200}
	for range maxTried - 1 {
		source.keys = append(source.keys, jose.JSONWebKey{Key: newCurveKey(elliptic.P256()).Public(), KeyID: "e"})
	}
	later := newCurveKey(elliptic.P256())
	source.keys = append(source.keys, jose.JSONWebKey{Key: curveKey.Public(), KeyID: "e"},
		jose.JSONWebKey{Key: later.Public(), KeyID: "e"}, jose.JSONWebKey{Key: later.Public(), KeyID: "later"})
	v := New(source, &fixedClock{now: now})
	for _, kid := range []string{"", "e"} {
		require.NoError(t, v.VerifyToken(t.Context(), sign(t, jose.ES256, curveKey, kid, claims(nil)), expected))
		err := v.VerifyToken(t.Context(), sign(t, jose.ES256, later, kid, claims(nil)), expected)
		require.ErrorContains(t, err, relay.CodeTokenSignature)
	}
	require.NoError(t, v.VerifyToken(t.Context(), sign(t, jose.ES256, later, "later", claims(nil)), expected))
}

func TestKeySetIsFetchedAtIntervals(t *testing.T) {
	source, clock := newIssuer(), &fixedClock{now: now}
	v := New(source, clock)
	check := func(kid string, key *rsa.PrivateKey) error {
		return v.VerifyToken(t.Context(), sign(t, jose.RS256, key, kid, claims(func(c *jwt.Claims) {
			c.Expiry = jwt.NewNumericDate(clock.now.Add(time.Minute))
		})), expected)
	}
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() { _ = check("r1", rsaKey) })
	}
	clients.Wait()
	require.NoError(t, check("r1", rsaKey))
	require.Equal(t, 1, source.asked, "one fetch for concurrent requests")

	next := newRSAKey(2048)
	source.update(func() { source.keys = []jose.JSONWebKey{{Key: next.Public(), KeyID: "r2"}} })
	requireUnavailable(t, fetchInterval, check("r2", next))
	clock.now = clock.now.Add(fetchInterval / 3)
	requireUnavailable(t, fetchInterval*2/3, check("r2", next))
	require.Equal(t, 1, source.asked, "just fetched")
	clock.now = clock.now.Add(fetchInterval * 2 / 3)
	require.NoError(t, check("r2", next), "an unknown kid fetches the set again")
	requireUnavailable(t, fetchInterval, check("r3", next))
	require.Equal(t, 2, source.asked, "an invented kid fetches nothing")
	clock.now = clock.now.Add(fetchInterval)
	require.ErrorContains(t, check("r3", next), relay.CodeTokenKey, "the new set lacks it")
	require.Equal(t, 3, source.asked)

	source.update(func() { source.status = 500 })
	clock.now = clock.now.Add(fetchInterval)
	requireUnavailable(t, fetchInterval, check("r4", next))
	clock.now = clock.now.Add(keyLifetime)
	require.NoError(t, check("r2", next), "the issuer is down")
	settle(v)
	require.NoError(t, check("r2", next))
	settle(v)
	require.Equal(t, 5, source.asked)
	clock.now = clock.now.Add(staleLifetime)
	requireUnavailable(t, fetchInterval, check("r2", next))
	source.update(func() { source.status = 200 })
	requireUnavailable(t, fetchInterval, check("r2", next))
	clock.now = clock.now.Add(fetchInterval)
	require.NoError(t, check("r2", next))
}

func TestClockSetBackDoesNotPreventAFetch(t *testing.T) {
	source, clock := newIssuer(), &fixedClock{now: now}
	v := New(source, clock)
	check := func(kid string, key *rsa.PrivateKey) error {
		return v.VerifyToken(t.Context(), sign(t, jose.RS256, key, kid, claims(func(c *jwt.Claims) {
			c.NotBefore, c.IssuedAt = nil, nil
		})), expected)
	}
	require.NoError(t, check("r1", rsaKey))
	next := newRSAKey(2048)
	source.update(func() { source.keys = []jose.JSONWebKey{{Key: next.Public(), KeyID: "r2"}} })
	clock.now = clock.now.Add(-time.Hour)
	_ = check("r2", next) // waits for the fetch
	require.NoError(t, check("r2", next))
	require.Equal(t, 2, source.asked)
}

// requireUnavailable fails unless the sender shall resend its request after a pause.
func requireUnavailable(t *testing.T, pause time.Duration, err error) {
	t.Helper()
	var unavailable *core.Error
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, core.Unavailable, unavailable.Code)
	require.Equal(t, pause, unavailable.RetryAfter)
}

// settle waits for the pending fetch.
func settle(v *Verifier) {
	set := v.set(expected.KeySet.URL)
	set.mu.Lock()
	pending := set.pending
	set.mu.Unlock()
	if pending != nil {
		<-pending.done
	}
}

func TestSlowFetchDelaysOnlyUnknownKeys(t *testing.T) {
	source, clock := newIssuer(), &fixedClock{now: now}
	v := New(source, clock)
	later := claims(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(now.Add(time.Hour)) })
	tokens := map[string]string{"r1": sign(t, jose.RS256, rsaKey, "r1", later),
		"r9": sign(t, jose.RS256, rsaKey, "r9", later)}
	check := func(ctx context.Context, kid string) error { return v.VerifyToken(ctx, tokens[kid], expected) }
	require.NoError(t, check(t.Context(), "r1"))
	hold := make(chan struct{})
	source.update(func() { source.hold = hold })
	clock.now = clock.now.Add(keyLifetime)
	require.NoError(t, check(t.Context(), "r1"), "it starts the fetch, and does not wait")
	require.NoError(t, check(t.Context(), "r1"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := check(ended, "r9")
	requireUnavailable(t, fetchInterval, err)
	require.ErrorIs(t, err, context.Canceled)

	joined := make(chan error, 1)
	go func() { joined <- check(t.Context(), "r9") }()
	close(hold)
	requireUnavailable(t, fetchInterval, <-joined)
	require.Equal(t, 2, source.asked)
}

// panickingIssuer panics at each request.
type panickingIssuer struct{}

func (panickingIssuer) Send(context.Context, relay.Request) relay.Attempt { panic("out of range") }

func TestPanicOfFetchIsItsError(t *testing.T) {
	v := New(panickingIssuer{}, &fixedClock{now: now})
	err := v.VerifyToken(t.Context(), sign(t, jose.RS256, rsaKey, "r1", claims(nil)), expected)
	requireUnavailable(t, fetchInterval, err)
}

func TestCacheOfKeySetsIsBounded(t *testing.T) {
	v := New(newIssuer(), &fixedClock{now: now})
	for n := range maxSets + 50 {
		v.set("https://keys.example/" + time.Duration(n).String())
	}
	require.Len(t, v.sets, maxSets)
}

func FuzzKeySet(f *testing.F) {
	source, err := json.Marshal(jose.JSONWebKeySet{Keys: newIssuer().keys})
	require.NoError(f, err)
	for _, seed := range []string{string(source), `{"keys":[{"kty":"oct","k":"AA"}]}`, `{"keys":null}`,
		`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"new"},7]}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		keys, err := parse(body)
		if err != nil {
			require.Empty(t, keys)
		}
		require.LessOrEqual(t, len(keys), maxKeys)
		for _, key := range keys {
			require.True(t, key.IsPublic())
			require.Contains(t, algorithms, algorithmOf(key))
		}
	})
}
