package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestInboundSchemeRejectsUnusedFields(t *testing.T) {
	for _, c := range []struct {
		name    string
		scheme  pb.InboundScheme
		change  func(*pb.Inbound)
		refused string
	}{
		{"an HMAC in base64 behind a prefix", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, func(i *pb.Inbound) {
			i.Prefix, i.Encoding = "sha256=", pb.InboundEncoding_INBOUND_ENCODING_BASE64
		}, ""},
		{"an HMAC with a timestamp", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, func(i *pb.Inbound) {
			i.TimestampHeader, i.ToleranceSeconds = "x-time", 60
		}, ""},
		{"a secret behind a prefix", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Prefix = "Token " }, ""},
		{"basic", pb.InboundScheme_INBOUND_SCHEME_BASIC, func(*pb.Inbound) {}, ""},
		{"basic behind a prefix", pb.InboundScheme_INBOUND_SCHEME_BASIC, func(i *pb.Inbound) { i.Prefix = "x" },
			"prefix: is given by the scheme"},
		{"an encoded secret", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) {
				i.Encoding =
					pb.InboundEncoding_INBOUND_ENCODING_HEX
			}, "encoding, signed_text, parts, timestamp and nonce: are of an HMAC"},
		{"a secret with a timestamp", pb.InboundScheme_INBOUND_SCHEME_BEARER,
			func(i *pb.Inbound) { i.TimestampHeader = "x-time" },
			"encoding, signed_text, parts, timestamp and nonce: are of an HMAC"},
		{"a tolerance of nothing", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.ToleranceSeconds = 60 }, "tolerance_seconds: needs a timestamp"},
		{"a secret in the query", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Header, i.Query = "", "key" }, ""},
		{"a secret in two places", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Query = "key" }, "header: is required, or query instead"},
		{"a secret in no place", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Header = "" }, "header: is required, or query instead"},
		{"a bearer in the query", pb.InboundScheme_INBOUND_SCHEME_BEARER,
			func(i *pb.Inbound) { i.Header, i.Query = "", "key" }, "query: the scheme needs a header"},
		{"everything signed", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA512, func(i *pb.Inbound) {
			i.SignedText = "{method} {path}?{query}\n{query.store}|{timestamp}|{nonce}|{body}"
			i.TimestampQuery, i.NonceHeader, i.ToleranceSeconds = "ts", "x-nonce", 3600
			i.TimestampFormat = pb.InboundTimestamp_INBOUND_TIMESTAMP_RFC3339
		}, ""},
		{"a signature without the body", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.SignedText = "{path}" }, "signed_text: must contain {body}"},
		{"an unknown placeholder", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.SignedText = "{body}{secret}" }, "{secret}, which is no placeholder"},
		{"a timestamp that is not signed", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.SignedText, i.TimestampHeader = "{body}", "x-time" }, "must contain {timestamp}"},
		{"a signed timestamp from nowhere", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.SignedText = "{timestamp}{body}" },
			"exactly if timestamp_header, timestamp_query or timestamp_part is set"},
		{"a nonce that is not signed", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.NonceHeader = "x-nonce" }, "must contain {nonce}"},
		{"a nonce of a day", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1, func(i *pb.Inbound) {
			i.NonceHeader, i.SignedText, i.ToleranceSeconds = "x-nonce", "{nonce}{body}", 86400
		}, "must be at most 3600 with a nonce"},
		{"a nonce without a timestamp", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1, func(i *pb.Inbound) {
			i.NonceHeader, i.SignedText = "x-nonce", "{nonce}.{body}"
		}, "nonce_header: needs a timestamp"},
		{"a nonce at both ends", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			withNonce("{nonce}.{timestamp}{body}\n{nonce}"), ""},
		{"a nonce behind the timestamp", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			withNonce("{timestamp}{nonce}.{body}"), "{nonce} needs a character"},
		{"a nonce behind a letter", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			withNonce("{timestamp}.n{nonce}.{body}"), "{nonce} needs a character"},
		{"a nonce before the body", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			withNonce("{timestamp}.{nonce}{body}"), "{nonce} needs a character"},
		{"a nonce before a hyphen", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			withNonce("{timestamp}.{nonce}-.{body}"), "{nonce} needs a character"},
		{"two timestamps", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.TimestampHeader, i.TimestampQuery = "x-time", "ts" }, "at most one is allowed"},
		{"a format without a timestamp", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1,
			func(i *pb.Inbound) { i.TimestampFormat = pb.InboundTimestamp_INBOUND_TIMESTAMP_SECONDS },
			"timestamp_format: must be"},
		{"a header of two lines", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Header = "x\ny" }, "is no header name"},
		{"an order id without a slash", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.OrderId = "id" }, ""},
		{"a header of parts", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.CredentialPart, i.TimestampPart, i.ToleranceSeconds = "v1", "t", 60 }, ""},
		{"a timestamp in a part", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.TimestampPart = "t" }, "timestamp_part: needs a credential_part"},
		{"a part of the query", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.Header, i.Query, i.CredentialPart = "", "sig", "v1" }, "part: needs a header"},
		{"a part of a secret", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.CredentialPart = "v1" }, "are of an HMAC"},
		{"two parts as one", pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			func(i *pb.Inbound) { i.CredentialPart = "t,v1" }, "must be names of parts"},
		{"a token", pb.InboundScheme_INBOUND_SCHEME_JWT, withToken(func(*pb.InboundToken) {}), ""},
		{"a token of settings", pb.InboundScheme_INBOUND_SCHEME_JWT, withToken(func(token *pb.InboundToken) {
			token.Issuer, token.IssuerSetting, token.Audience, token.AudienceSetting = "", "realm", "", "client"
		}), ""},
		{"a token that nothing describes", pb.InboundScheme_INBOUND_SCHEME_JWT,
			func(i *pb.Inbound) { i.Secret = "" }, "token: is required by INBOUND_SCHEME_JWT"},
		{"a token with a secret", pb.InboundScheme_INBOUND_SCHEME_JWT, func(i *pb.Inbound) {
			withToken(func(*pb.InboundToken) {})(i)
			i.Secret = "key"
		}, "secret: a key set verifies the token"},
		{"a secret with a token", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Token = &pb.InboundToken{} }, "only by it"},
		{"a key set of any host", pb.InboundScheme_INBOUND_SCHEME_JWT,
			withToken(func(token *pb.InboundToken) { token.Endpoint = "other" }), `endpoint "other": is not declared`},
		{"a key set at another host", pb.InboundScheme_INBOUND_SCHEME_JWT,
			withToken(func(token *pb.InboundToken) { token.Path = "//evil.example/keys" }), "must begin with a slash"},
		{"a token of any issuer", pb.InboundScheme_INBOUND_SCHEME_JWT,
			withToken(func(token *pb.InboundToken) { token.Issuer = "" }), "issuer: is required"},
		{"a token for two audiences", pb.InboundScheme_INBOUND_SCHEME_JWT,
			withToken(func(token *pb.InboundToken) { token.AudienceSetting = "client" }), "audience: is required"},
		{"a token in the query", pb.InboundScheme_INBOUND_SCHEME_JWT, func(i *pb.Inbound) {
			withToken(func(*pb.InboundToken) {})(i)
			i.Header, i.Query = "", "token"
		}, "query: the scheme needs a header"},
		{"several messages", pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			func(i *pb.Inbound) { i.Purpose = pb.InboundPurpose_INBOUND_PURPOSE_MIXED }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &pb.Inbound{Kind: "orders", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER, Scheme: c.scheme,
				Header: "authorization", Secret: "key"}
			c.change(in)
			err := CheckDescription(&Description{
				Id: "x", Version: "1.0.0", Protocol: Protocol, DisplayName: "X",
				Capabilities: []string{CapabilityOrderTranslate},
				Secrets:      []*pb.Secret{{Name: "key"}}, Inbound: []*pb.Inbound{in},
				Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"api.example.com"}}},
			})
			if c.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refused)
			}
		})
	}
}

// withNonce signs a text with a nonce and a timestamp.
func withNonce(text string) func(*pb.Inbound) {
	return func(i *pb.Inbound) { i.SignedText, i.TimestampHeader, i.NonceHeader = text, "x-time", "x-nonce" }
}

// withToken makes a change to the token of an inbound that verifies one.
func withToken(change func(*pb.InboundToken)) func(*pb.Inbound) {
	return func(i *pb.Inbound) {
		i.Secret, i.Token = "", &pb.InboundToken{Endpoint: "api", Path: "/keys", Issuer: "i", Audience: "a"}
		change(i.Token)
	}
}

func TestInboundDescriptionNamesTheProof(t *testing.T) {
	for want, in := range map[string]*pb.Inbound{
		"secret in query parameter key": {Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Query: "key"},
		"JSON Web Token by the key set of endpoint api in header authorization": {
			Scheme: pb.InboundScheme_INBOUND_SCHEME_JWT, Header: "authorization",
			Token: &pb.InboundToken{Endpoint: "api"}},
		"Bearer secret in header authorization": {Scheme: pb.InboundScheme_INBOUND_SCHEME_BEARER,
			Header: "authorization"},
		"Basic name:password in header authorization": {Scheme: pb.InboundScheme_INBOUND_SCHEME_BASIC,
			Header: "authorization"},
		`HMAC-SHA256 of "{timestamp}.{body}" in header x-sig`: {Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256,
			Header: "x-sig", TimestampQuery: "ts"},
		`HMAC-SHA256 of "{timestamp}.{body}" in header x-sig, part v1`: {
			Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "x-sig", CredentialPart: "v1",
			TimestampPart: "t"},
		`HMAC-SHA1 of "{nonce}{body}" in header x-sig, once for each x-n`: {
			Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1, Header: "x-sig", NonceHeader: "x-n",
			SignedText: "{nonce}{body}"},
	} {
		require.Equal(t, want, DescribeInbound(in))
	}
}

func TestSharedInboundNamesTheStore(t *testing.T) {
	shared := func(kind *pb.Inbound, shared *pb.SharedInbound) error {
		kind.Kind, kind.Purpose, kind.Shared = "events", pb.InboundPurpose_INBOUND_PURPOSE_MIXED, shared
		c := &validation{}
		c.shared("events", kind)
		return c.err()
	}
	equals := func() *pb.Inbound { return &pb.Inbound{Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS} }
	require.NoError(t, shared(equals(), nil))
	require.NoError(t, shared(equals(), &pb.SharedInbound{StoreId: []string{"/store/0/id"}}))
	require.NoError(t, shared(equals(), &pb.SharedInbound{StoreIdHeader: "X-Store"}))
	require.ErrorContains(t, shared(equals(), &pb.SharedInbound{}), "store_id: is required")
	require.ErrorContains(t, shared(equals(), &pb.SharedInbound{StoreId: []string{"store"}}), "begin with a slash")
	require.ErrorContains(t, shared(equals(), &pb.SharedInbound{StoreIdHeader: "X Store"}), "is no header name")
	signed := func(text string) *pb.Inbound {
		return &pb.Inbound{Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, SignedText: text}
	}
	require.NoError(t, shared(signed("{header.x-store}.{body}"), &pb.SharedInbound{StoreIdHeader: "X-Store"}))
	require.NoError(t, shared(signed("{body}"), &pb.SharedInbound{StoreId: []string{"/store"}}))
	require.ErrorContains(t, shared(signed("{header.x-other}.{body}"), &pb.SharedInbound{StoreIdHeader: "X-Store"}),
		"must contain {header.X-Store}")
	token := &pb.Inbound{Scheme: pb.InboundScheme_INBOUND_SCHEME_JWT}
	require.ErrorContains(t, shared(token, &pb.SharedInbound{StoreIdHeader: "X-Store"}), "JSON Web Token")
}

func TestServedMenuSignsTheStore(t *testing.T) {
	check := func(text, query string) error {
		c := &validation{}
		c.inbound("menu", &pb.Inbound{Kind: "menu", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MENU, Secret: "key",
			Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "X-Sign", SignedText: text, StoreQuery: query},
			&Description{Capabilities: []string{CapabilityMenuServe}, Secrets: []*pb.Secret{{Name: "key"}}})
		return c.err()
	}
	require.NoError(t, check("{method} {path}", ""))
	require.NoError(t, check("{query}", "store"))
	require.NoError(t, check("{query.store}", "store"))
	require.ErrorContains(t, check("{query}", ""), "must contain {path}")
	require.ErrorContains(t, check("", ""), "must contain {path}")
	require.ErrorContains(t, check("{path} {query.other}", "store"), "must contain {query.store} or {query}")
}

func TestServedMenuNamesItsStoreInTheURL(t *testing.T) {
	check := func(in *pb.Inbound) error {
		in.Kind, in.Scheme = "menu", pb.InboundScheme_INBOUND_SCHEME_BEARER
		in.Header, in.Secret = "Authorization", "key"
		c := &validation{}
		c.inbound("menu", in, &Description{Capabilities: []string{CapabilityMenuServe, CapabilityOrderTranslate},
			Secrets: []*pb.Secret{{Name: "key"}}})
		return c.err()
	}
	menu := pb.InboundPurpose_INBOUND_PURPOSE_MENU
	require.NoError(t, check(&pb.Inbound{Purpose: menu, Shared: &pb.SharedInbound{}}))
	require.ErrorContains(t, check(&pb.Inbound{Purpose: menu, Shared: &pb.SharedInbound{StoreIdHeader: "X-Store"}}),
		"a menu has neither")
	require.ErrorContains(t, check(&pb.Inbound{Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER, StoreQuery: "store"}),
		"store_query: is of a menu")
}
