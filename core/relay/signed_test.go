package relay

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // one of the hash functions
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// everything covers each part of a request.
var everything = CallbackVerification{Scheme: SchemeHMAC, Query: "sig", Secret: "key",
	Timestamp: Timestamp{Header: "x-time", Format: Milliseconds}, Nonce: "x-nonce", Tolerance: time.Minute,
	Signature: signature.Scheme{Algorithm: signature.SHA512,
		Template: parse("{method}\n{path}?{query}|{query.store}{header.Host}{timestamp}|{nonce}|{body}")}}

// signedRequest returns a request, and its signature over everything as another program would compute it.
func signedRequest(secret string, now time.Time) InboundCallback {
	at := strconv.FormatInt(now.UnixMilli(), 10)
	k := InboundCallback{Kind: "orders", Method: "POST", Path: "/channel/api/v1/tasty%20eats/callback/orders/",
		RawQuery: "business=7&store=s%201", Query: map[string]string{"business": "7", "store": "s 1"},
		Headers: map[string]string{"x-time": at, "x-nonce": "n-1", "host": "|"}, Body: []byte("a=1&b=2")}
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write([]byte("POST\n/channel/api/v1/tasty%20eats/callback/orders/?business=7&store=s%201|s 1|" + at +
		"|n-1|a=1&b=2"))
	k.Query["sig"] = hex.EncodeToString(mac.Sum(nil))
	return k
}

func TestEachChangeOfSignedRequestHasItsCode(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	require.NoError(t, everything.check(signedRequest("s3cret", now), "s3cret", now))
	for name, c := range map[string]struct {
		change func(k *InboundCallback)
		code   string
	}{
		"body":      {func(k *InboundCallback) { k.Body = []byte("a=1&b=3") }, CodeCredentialWrong},
		"method":    {func(k *InboundCallback) { k.Method = "PUT" }, CodeCredentialWrong},
		"path":      {func(k *InboundCallback) { k.Path += "x" }, CodeCredentialWrong},
		"query":     {func(k *InboundCallback) { k.RawQuery += "&x=1" }, CodeCredentialWrong},
		"parameter": {func(k *InboundCallback) { k.Query["store"] = "s2" }, CodeCredentialWrong},
		"header":    {func(k *InboundCallback) { k.Headers["host"] = "" }, CodeCredentialWrong},
		"timestamp": {func(k *InboundCallback) { k.Headers["x-time"] = "1700000000124" }, CodeCredentialWrong},
		"nonce":     {func(k *InboundCallback) { k.Headers["x-nonce"] = "n-2" }, CodeCredentialWrong},
		"no nonce":  {func(k *InboundCallback) { delete(k.Headers, "x-nonce") }, CodeNonceMissing},
		"long nonce": {func(k *InboundCallback) { k.Headers["x-nonce"] = string(bytes.Repeat([]byte("n"), 257)) },
			CodeNonceTooLong},
		"nonce with a dot": {func(k *InboundCallback) { k.Headers["x-nonce"] = "n.1" }, CodeNonceInvalid},
		"no timestamp":     {func(k *InboundCallback) { delete(k.Headers, "x-time") }, CodeTimestampInvalid},
		"no signature":     {func(k *InboundCallback) { delete(k.Query, "sig") }, CodeCredentialMissing},
		"in a header": {func(k *InboundCallback) {
			k.Headers["sig"] = k.Query["sig"]
			delete(k.Query, "sig")
		}, CodeCredentialMissing},
		"no hexadecimal": {func(k *InboundCallback) { k.Query["sig"] = "xyz" }, CodeCredentialWrong},
	} {
		t.Run(name, func(t *testing.T) {
			k := signedRequest("s3cret", now)
			c.change(&k)
			requireCode(t, c.code, everything.check(k, "s3cret", now))
		})
	}
	requireCode(t, CodeCredentialWrong, everything.check(signedRequest("other", now), "s3cret", now))
	requireCode(t, CodeSecretUnset, everything.check(signedRequest("", now), "", now))
	old := signedRequest("s3cret", now)
	requireCode(t, CodeTimestampOutside, everything.check(old, "s3cret", now.Add(time.Minute+time.Millisecond)))
	requireCode(t, CodeTimestampOutside, everything.check(old, "s3cret", now.Add(-time.Minute-time.Millisecond)))
}

func requireCode(t require.TestingT, code string, err error) {
	var refused *VerificationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
}

func TestSignatureCanBeAPartOfItsHeader(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	proof := CallbackVerification{Scheme: SchemeHMAC, Header: "x-sign", Part: "v1",
		Timestamp: Timestamp{Header: "x-sign", Part: "t", Format: Seconds}, Tolerance: time.Minute,
		Signature: signature.Scheme{Template: parse("{timestamp}.{body}")}}
	right := hex.EncodeToString(macOf("s3cret", "1700000000.{}"))
	wrong := hex.EncodeToString(macOf("other", "1700000000.{}"))
	many := strings.Repeat("v1="+wrong+",", maxParts)
	for shown, code := range map[string]string{
		"t=1700000000,v1=" + right:                                "",
		" v0=x, v1=" + wrong + ", v1=" + right + ", t=1700000000": "",
		"t=1700000000,v1=" + wrong:                                CodeCredentialWrong,
		"t=1700000000,v0=" + right:                                CodeCredentialWrong,
		"t=1700000000," + right:                                   CodeCredentialWrong,
		"t=1700000000," + many + "v1=" + right:                    CodeCredentialWrong,
		"t=1700000001,v1=" + right:                                CodeCredentialWrong,
		"v1=" + right:                                             CodeTimestampInvalid,
		"t=1600000000,v1=" + right:                                CodeTimestampOutside,
		"":                                                        CodeCredentialMissing,
	} {
		k := InboundCallback{Headers: map[string]string{"x-sign": shown}, Body: []byte("{}")}
		err := proof.check(k, "s3cret", now)
		if code == "" {
			require.NoError(t, err, shown)
		} else {
			requireCode(t, code, err)
		}
	}
}

func FuzzPartsOf(f *testing.F) {
	f.Add("t=1700000000,v1=5257a869,v1=a8e2f0b1", "v1")
	f.Add(" v1 = a=b ,,=,v1", "v1")
	f.Fuzz(func(t *testing.T, header, name string) {
		values := partsOf(header, name)
		require.LessOrEqual(t, len(values), maxParts)
		for _, value := range values {
			require.NotContains(t, value, ",")
			require.Contains(t, header, value)
		}
	})
}

func TestTimestampHasItsDeclaredFormat(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		format TimestampFormat
		sent   string
		code   string
	}{
		{Seconds, "1700000000", ""}, {Seconds, "1700000000000", CodeTimestampOutside},
		{Seconds, "2023-11-14T22:13:20Z", CodeTimestampInvalid}, {Seconds, "", CodeTimestampInvalid},
		{Seconds, "+1700000000", CodeTimestampInvalid}, {Seconds, "01700000000", CodeTimestampInvalid},
		{Milliseconds, "01700000000000", CodeTimestampInvalid},
		{Seconds, "9223372036854775807", CodeTimestampOutside}, {Seconds, "-9223372036854775808", CodeTimestampOutside},
		{Milliseconds, "1700000000000", ""}, {Milliseconds, "1700000000", CodeTimestampOutside},
		{Milliseconds, "9223372036854775807", CodeTimestampOutside},
		{RFC3339, "2023-11-14T22:13:20Z", ""}, {RFC3339, "2023-11-15T00:13:20.25+02:00", ""},
		{RFC3339, "2023-11-14T22:13:20", CodeTimestampInvalid}, {RFC3339, "1700000000", CodeTimestampInvalid},
	} {
		timestamp := Timestamp{Query: "t", Format: c.format}
		sent, err := timestamp.check(InboundCallback{Query: map[string]string{"t": c.sent},
			Headers: map[string]string{"t": "1700000000"}}, 5*time.Minute, now)
		if c.code == "" {
			require.NoError(t, err, c.sent)
			require.Equal(t, c.sent, sent, "it is signed as sent")
		} else {
			requireCode(t, c.code, err)
		}
	}
}

func TestSignatureMatchesOnlyItsOwnRequest(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		hashes := map[signature.Algorithm]func() hash.Hash{signature.SHA1: sha1.New, signature.SHA256: sha256.New,
			signature.SHA512: sha512.New}
		scheme := signature.Scheme{Template: parse("{path}\n{body}"),
			Algorithm: rapid.SampledFrom(slices.Sorted(maps.Keys(hashes))).Draw(t, "hash"),
			Encoding:  rapid.SampledFrom([]signature.Encoding{signature.Hex, signature.Base64}).Draw(t, "encoding")}
		proof := CallbackVerification{Scheme: SchemeHMAC, Header: "s", Signature: scheme,
			Prefix: rapid.SampledFrom([]string{"", "v1="}).Draw(t, "prefix")}
		secret := rapid.StringN(1, 40, -1).Draw(t, "secret")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		mac := hmac.New(hashes[scheme.Algorithm], []byte(secret))
		mac.Write(append([]byte("/p\n"), body...))
		value := hex.EncodeToString(mac.Sum(nil))
		if scheme.Encoding == signature.Base64 {
			value = rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding,
				base64.URLEncoding, base64.RawURLEncoding}).Draw(t, "alphabet").EncodeToString(mac.Sum(nil))
		}
		k := InboundCallback{Path: "/p", Body: body, Headers: map[string]string{"s": proof.Prefix + value}}
		require.NoError(t, proof.check(k, secret, now))
		requireCode(t, CodeCredentialWrong, proof.check(k, secret+"x", now))
		k.Body = append(slices.Clone(body), 0)
		requireCode(t, CodeCredentialWrong, proof.check(k, secret, now))
		k.Body, k.Headers = body, map[string]string{"s": proof.Prefix + value[:len(value)-4]}
		requireCode(t, CodeCredentialWrong, proof.check(k, secret, now))
	})
}

// nonceBook remembers nonces in memory.
type nonceBook struct {
	rejections
	states map[[sha256.Size]byte]NonceState
	kept   Nonce
	broken int // calls of KeepNonce that fail
	tried  int
}

func (b *nonceBook) ClaimNonce(_ context.Context, _ core.BusinessID, _ string, nonce [sha256.Size]byte,
	_ time.Time) (NonceState, error) {
	state := b.states[nonce]
	if state == "" {
		b.states[nonce] = NoncePending
		return NonceClaimed, nil
	}
	return state, nil
}

func (b *nonceBook) KeepNonce(_ context.Context, _ core.BusinessID, _ string, nonce Nonce) error {
	b.tried++
	if b.tried <= b.broken {
		return errors.New("the connection is lost")
	}
	b.states[nonce.Hash], b.kept = NonceAccepted, nonce
	return nil
}

func (b *nonceBook) ForgetNonce(_ context.Context, _ core.BusinessID, _ string, nonce Nonce) error {
	delete(b.states, nonce.Hash)
	return nil
}

// signingPlatform is fakePlatform with signed requests.
type signingPlatform struct{ fakePlatform }

func (signingPlatform) Verification(string, string) (CallbackVerification, error) {
	return everything, nil
}

func TestReplayIsRefusedAfterSuccessOnly(t *testing.T) {
	book := &nonceBook{rejections: rejections{}, states: map[[sha256.Size]byte]NonceState{}}
	callers := Callers{Keys: book, Nonces: book, Directory: signingPlatform{}, Verifications: signingPlatform{},
		Clock: core.NewSystemClock(nil)}
	at := callers.Clock.Now().Add(20 * time.Second)
	k := signedRequest("s3cret", at)
	k.Business, k.Platform = 7, "tasty"
	caller, err := callers.Authenticate(t.Context(), k)
	require.NoError(t, err)
	require.Equal(t, "sig", caller.QueryKey)

	require.NoError(t, callers.Claim(t.Context(), caller))
	var busy *core.Error
	require.ErrorAs(t, callers.Claim(t.Context(), caller), &busy)
	require.Equal(t, core.Unavailable, busy.Code, "the first may still fail")
	require.NotZero(t, busy.RetryAfter)
	require.NoError(t, callers.End(t.Context(), caller, false))
	require.NoError(t, callers.Claim(t.Context(), caller), "a failed request may be resent")
	require.NoError(t, callers.End(t.Context(), caller, true))
	require.Equal(t, core.Conflict, core.CodeOf(callers.Claim(t.Context(), caller)))
	require.Contains(t, book.rejections["7tasty"], CodeNonceReplayed)
	require.Equal(t, at.Add(time.Minute).UnixMilli(), book.kept.Until.UnixMilli(), "while the timestamp is valid")

	k.Kind = "order" // names the declaration of orders too
	aliased, err := callers.Authenticate(t.Context(), k)
	require.NoError(t, err)
	require.Equal(t, core.Conflict, core.CodeOf(callers.Claim(t.Context(), aliased)), "a replay at the alias")

	k.Headers["x-nonce"] = "n-2"
	_, err = callers.Authenticate(t.Context(), k)
	require.True(t, errors.As(err, new(*VerificationError)), "another nonce needs another signature")
	require.NoError(t, callers.Claim(t.Context(), Caller{Business: 7}), "a request without a nonce")
	require.NoError(t, callers.End(t.Context(), Caller{Business: 7}, true))
}

// instantClock ends each wait at once.
type instantClock struct{ core.Clock }

func (c instantClock) At(time.Time) (<-chan time.Time, func()) { return c.Clock.At(c.Now()) }

func TestNonceIsKeptDespiteLostConnections(t *testing.T) {
	caller := Caller{Business: 7, Platform: "tasty", Nonce: Nonce{Hash: sha256.Sum256([]byte("n"))}}
	for _, c := range []struct {
		broken, tried int
		state         NonceState
	}{{0, 1, NonceAccepted}, {keepAttempts - 1, keepAttempts, NonceAccepted}, {keepAttempts, keepAttempts, ""}} {
		book := &nonceBook{states: map[[sha256.Size]byte]NonceState{}, broken: c.broken}
		callers := Callers{Nonces: book, Clock: instantClock{core.NewSystemClock(nil)}}
		require.Equal(t, c.state == "", callers.End(t.Context(), caller, true) != nil)
		require.Equal(t, c.state, book.states[caller.Nonce.Hash])
		require.Equal(t, c.tried, book.tried)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	book := &nonceBook{broken: 1}
	require.Error(t, Callers{Nonces: book, Clock: core.NewSystemClock(nil)}.End(ended, caller, true))
	require.Equal(t, 1, book.tried)
}

func FuzzTimestamp(f *testing.F) {
	for _, text := range []string{"1700000000", "1700000000000", "2023-11-14T22:13:20Z", "", "-1", "1e9"} {
		f.Add(text)
	}
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []TimestampFormat{Seconds, Milliseconds, RFC3339} {
			timestamp := Timestamp{Header: "t", Format: format}
			k := InboundCallback{Headers: map[string]string{"t": text}}
			if _, err := timestamp.check(k, time.Minute, now); err == nil {
				at, err := timestamp.parse(text)
				require.NoError(t, err)
				require.LessOrEqual(t, at.Sub(now).Abs(), time.Minute)
			}
		}
	})
}
