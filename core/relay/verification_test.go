package relay

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

func macOf(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// parse returns a template that is valid.
func parse(text string) signature.Template {
	template, err := signature.Parse(text)
	if err != nil {
		panic(err)
	}
	return template
}

func TestCallbackVerificationFollowsThePluginDescription(t *testing.T) {
	const secret, body = "s3cret:word", `{"id":1}`
	now := time.Unix(1_700_000_000, 0)
	at := func(away time.Duration) string { return strconv.FormatInt(now.Add(away).Unix(), 10) }
	ofBody := signature.Scheme{Template: parse("{body}")}
	inBase64 := signature.Scheme{Template: parse("{body}"), Encoding: signature.Base64}
	plain := CallbackVerification{Scheme: SchemeHMAC, Header: "x-signature", Secret: "key", Signature: ofBody}
	prefixed := CallbackVerification{Scheme: SchemeHMAC, Header: "x-signature", Prefix: "sha256=", Secret: "key",
		Signature: inBase64}
	timed := CallbackVerification{Scheme: SchemeHMAC, Header: "x-signature", Prefix: "v1=", Secret: "key",
		Timestamp: Timestamp{Header: "x-time", Format: Seconds}, Tolerance: 5 * time.Minute,
		Signature: signature.Scheme{Template: parse("{timestamp}.{body}")}}
	bearer := CallbackVerification{Scheme: SchemeToken, Header: "authorization", Prefix: "Bearer ", Secret: "key"}
	signed := hex.EncodeToString(macOf(secret, body))
	over := func(time string) string { return "v1=" + hex.EncodeToString(macOf(secret, time+"."+body)) }
	for _, c := range []struct {
		name    string
		proof   CallbackVerification
		headers map[string]string
		refused string
	}{
		{"hexadecimal", plain, map[string]string{"x-signature": signed}, ""},
		{"digits in capitals", plain, map[string]string{"x-signature": strings.ToUpper(signed)}, ""},
		{"of another body", plain, map[string]string{"x-signature": hex.EncodeToString(macOf(secret, body+" "))},
			"x-signature is wrong"},
		{"by another secret", plain, map[string]string{"x-signature": hex.EncodeToString(macOf("other", body))},
			"x-signature is wrong"},
		{"cut short", plain, map[string]string{"x-signature": signed[:62]}, "x-signature is wrong"},
		{"missing", plain, nil, "the header x-signature is missing"},
		{"base64 behind a prefix", prefixed,
			map[string]string{"x-signature": "sha256=" + base64.StdEncoding.EncodeToString(macOf(secret, body))}, ""},
		{"without its prefix", prefixed,
			map[string]string{"x-signature": base64.StdEncoding.EncodeToString(macOf(secret, body))}, "is wrong"},
		{"nothing but a prefix", prefixed, map[string]string{"x-signature": "sha256="}, "is wrong"},
		{"with a timestamp", timed, map[string]string{"x-signature": over(at(0)), "x-time": at(0)}, ""},
		{"at the edge of the tolerance", timed,
			map[string]string{"x-signature": over(at(-5 * time.Minute)), "x-time": at(-5 * time.Minute)}, ""},
		{"too old", timed, map[string]string{"x-signature": over(at(-301 * time.Second)),
			"x-time": at(-301 * time.Second)}, "at most 5m0s from now"},
		{"from the future", timed,
			map[string]string{"x-signature": over(at(301 * time.Second)), "x-time": at(301 * time.Second)},
			"at most 5m0s from now"},
		{"with another timestamp than was signed", timed,
			map[string]string{"x-signature": over(at(0)), "x-time": at(time.Second)}, "is wrong"},
		{"without its timestamp", timed, map[string]string{"x-signature": over("")}, "x-time must be a time"},
		{"bearer", bearer, map[string]string{"authorization": "bearer " + secret}, ""},
		{"wrong bearer", bearer, map[string]string{"authorization": "Bearer " + secret + "x"},
			"authorization is wrong"},
		{"basic", CallbackVerification{Scheme: SchemeBasic, Header: "authorization", Prefix: "Basic "},
			map[string]string{"authorization": "Basic czNjcmV0OndvcmQ="}, ""},
		{"a header that is the secret", CallbackVerification{Scheme: SchemeToken, Header: "x-token"},
			map[string]string{"x-token": secret}, ""},
		{"of another header", CallbackVerification{Scheme: SchemeToken, Header: "x-token"},
			map[string]string{"x-other": secret}, "the header x-token is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			callback := InboundCallback{Headers: c.headers, Body: []byte(body)}
			err := c.proof.check(callback, secret, now)
			if c.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refused)
			}
			require.ErrorContains(t, c.proof.check(callback, "", now), "has no secret",
				"an unset secret authenticates nothing")
		})
	}
}

// fakePlatform is the platform tasty of business 7.
type fakePlatform struct{}

func (fakePlatform) Lookup(_ context.Context, business core.BusinessID, platform string) (string, Access, error) {
	if business != 7 || platform != "tasty" {
		return "", Access{}, core.Errorf(core.NotFound, "none")
	}
	return "p", Access{Secrets: map[string]string{"key": "s3cret"}}, nil
}

func (fakePlatform) Verification(_, kind string) (CallbackVerification, error) {
	if kind != "orders" {
		return CallbackVerification{}, core.Errorf(core.NotFound, "none")
	}
	return CallbackVerification{Scheme: SchemeToken, Header: "x-token", Secret: "key"}, nil
}

func TestCallbackVerificationIsBoundToBusinessAndPlatform(t *testing.T) {
	recorded := rejections{}
	callers := Callers{Keys: recorded, Directory: fakePlatform{}, Verifications: fakePlatform{},
		Clock: core.NewSystemClock(nil)}
	callback := InboundCallback{Business: 7, Platform: "tasty", Kind: "orders",
		Headers: map[string]string{"x-token": "s3cret"}}
	caller, err := callers.Authenticate(t.Context(), callback)
	require.NoError(t, err)
	require.Equal(t, Caller{Business: 7, Platform: "tasty", Plugin: "p", VerifiedBy: "x-token"}, caller)
	require.Empty(t, recorded)
	byAlias := callback
	byAlias.Platform = "tasty-eats"
	aliased, err := callers.Authenticate(t.Context(), byAlias)
	require.NoError(t, err)
	require.Equal(t, caller, aliased, "by an alias of the platform")
	for name, change := range map[string]func(*InboundCallback){
		"business": func(k *InboundCallback) { k.Business = 8 },
		"platform": func(k *InboundCallback) { k.Platform = "other" },
		"kind":     func(k *InboundCallback) { k.Kind = "actions" },
		"header":   func(k *InboundCallback) { k.Headers = nil },
	} {
		t.Run(name, func(t *testing.T) {
			other := callback
			change(&other)
			_, err := callers.Authenticate(t.Context(), other)
			require.Equal(t, core.Unauthenticated, core.CodeOf(err))
			var refusal *core.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, "the request does not prove that it comes from this platform",
				refusal.Message, "the message does not reveal the reason")
			require.Contains(t, recorded[fmt.Sprint(other.Business, other.Platform)],
				map[bool]string{true: "the header x-token is missing", false: "none"}[name == "header"],
				"the reason is recorded for the merchant's support")
		})
	}
}

// rejections holds why callbacks were rejected, by claimed business and platform.
type rejections map[string]string

func (n rejections) RecordRejection(_ context.Context, business core.BusinessID, platform, why string) error {
	n[fmt.Sprint(business, platform)] = why
	return nil
}

func (rejections) CallerByHash(context.Context, []byte) (Caller, error) {
	return Caller{}, core.Errorf(core.NotFound, "none")
}

// Resolve knows one alias, tasty-eats.
func (rejections) Resolve(_ context.Context, _ core.BusinessID, name string) (string, error) {
	if name == "tasty-eats" {
		return "tasty", nil
	}
	return name, nil
}

func (rejections) CreateCallerKey(context.Context, core.BusinessID, string, []byte) error {
	return nil
}
