package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// withCredentials is a valid description of a plugin with each kind of credential.
func withCredentials() *Description {
	renewed := ClientCredentials("renewed", "", "", "id", "")
	renewed.GetOauth2().Grant = pb.TokenGrant_TOKEN_GRANT_REFRESH_TOKEN
	renewed.GetOauth2().RefreshToken = "refresh"
	renewed.GetOauth2().TokenUrl = "https://login.example.com/oauth/token"
	renewed.GetOauth2().Header, renewed.GetOauth2().Template = "X-Token", "Token {token}"
	signed := Signed("signed", "X-Signature", "key", "{timestamp}.{body}")
	signed.GetSignature().TimestampHeader = "X-Timestamp"
	return &Description{Id: "a", Version: "1.0.0", Protocol: Protocol, DisplayName: "A",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"*.example.com"}, Certificate: "chain",
			CertificateKey: "key", RateLimit: &pb.RateLimit{Requests: 5, PeriodSeconds: 1, Burst: 10}}},
		Secrets:     []*pb.Secret{{Name: "id"}, {Name: "key"}, {Name: "refresh"}, {Name: "chain"}},
		Credentials: []*Credential{ClientCredentials("partner", "api", "/oauth/token", "id", "key"), renewed, signed}}
}

// declaredKinds are the credentials of withCredentials.
type declaredKinds struct {
	partner, renewed *OAuth2
	signed           *RequestSignature
}

func TestInvalidCredentialsAreRejected(t *testing.T) {
	require.NoError(t, CheckDescription(withCredentials()))
	for why, change := range map[string]func(c declaredKinds){
		`oauth2: client_id: secret "none": is not declared`: func(c declaredKinds) { c.partner.ClientId = "none" },
		`oauth2: client_secret: secret "": is not declared`: func(c declaredKinds) { c.partner.ClientSecret = "" },
		`oauth2: refresh_token: secret "": is not declared`: func(c declaredKinds) { c.renewed.RefreshToken = "" },
		"refresh_token: is only for the grant of that name": func(c declaredKinds) {
			c.partner.RefreshToken = "refresh"
		},
		"oauth2: grant 0: is not known":          func(c declaredKinds) { c.partner.Grant = 0 },
		"oauth2: authentication 9: is not known": func(c declaredKinds) { c.partner.Authentication = 9 },
		`endpoint "moon": is not declared`:       func(c declaredKinds) { c.partner.Endpoint = "moon" },
		`path "oauth": must begin with a slash`:  func(c declaredKinds) { c.partner.Path = "oauth" },
		"needs either endpoint and path, or token_url": func(c declaredKinds) {
			c.partner.TokenUrl = "https://a.example.com"
		},
		"token_url: host evil.test is allowed by no endpoint": func(c declaredKinds) {
			c.renewed.TokenUrl = "https://evil.test/"
		},
		"host example.com is allowed by no endpoint": func(c declaredKinds) {
			c.renewed.TokenUrl = "https://example.com/"
		},
		"must begin with https://": func(c declaredKinds) {
			c.renewed.TokenUrl = "http://a.example.com/"
		},
		"must be a URL without query":    func(c declaredKinds) { c.renewed.TokenUrl += "?a=b" },
		`"Token" must have {token} once`: func(c declaredKinds) { c.renewed.Template = "Token" },
		"no control characters":          func(c declaredKinds) { c.renewed.Template = "{token}\n" },
		"header host is set by the hub":  func(c declaredKinds) { c.renewed.Header = "host" },
		`parameters: "grant_type" is set by the hub`: func(c declaredKinds) {
			c.partner.Parameters = map[string]string{"grant_type": "password"}
		},
		"authorize_url: is only for the grant refresh_token": func(c declaredKinds) {
			c.partner.AuthorizeUrl = "https://a.example.com/authorize"
		},
		"authorize_url: host evil.test is allowed by no endpoint": func(c declaredKinds) {
			c.renewed.AuthorizeUrl = "https://evil.test/authorize"
		},
		"authorize_parameters: need authorize_url": func(c declaredKinds) {
			c.renewed.AuthorizeParameters = map[string]string{"prompt": "login"}
		},
		`authorize_parameters: "state" is set by the hub`: func(c declaredKinds) {
			c.renewed.AuthorizeUrl = "https://a.example.com/authorize"
			c.renewed.AuthorizeParameters = map[string]string{"state": "x"}
		},
		"signature: template: has {host}, which is no placeholder": func(c declaredKinds) {
			c.signed.Template = "{host}"
		},
		"{timestamp} needs a timestamp_header": func(c declaredKinds) {
			c.signed.TimestampHeader = ""
		},
		"must have {signature} once": func(c declaredKinds) { c.signed.Value = "v1" },
		"timestamp_header: must differ": func(c declaredKinds) {
			c.signed.TimestampHeader = "x-signature"
		},
		"the algorithm, encoding or":       func(c declaredKinds) { c.signed.Algorithm = 77 },
		`signature: secret: secret "none"`: func(c declaredKinds) { c.signed.Secret = "none" },
	} {
		d := withCredentials()
		list := d.GetCredentials()
		change(declaredKinds{list[0].GetOauth2(), list[1].GetOauth2(), list[2].GetSignature()})
		require.ErrorContains(t, CheckDescription(d), why)
	}
}

func TestInvalidEndpointDeclarationsAreRejected(t *testing.T) {
	for why, change := range map[string]func(e *pb.Endpoint){
		`certificate_key: secret "": is not declared`: func(e *pb.Endpoint) { e.CertificateKey = "" },
		`certificate: secret "none"`:                  func(e *pb.Endpoint) { e.Certificate = "none" },
		"rate_limit: requests: must be from 1":        func(e *pb.Endpoint) { e.RateLimit.Requests = 0 },
		"rate_limit: period_seconds":                  func(e *pb.Endpoint) { e.RateLimit.PeriodSeconds = 4000 },
		"rate_limit: scope: 9 is unknown":             func(e *pb.Endpoint) { e.RateLimit.Scope = 9 },
	} {
		d := withCredentials()
		change(d.GetEndpoints()[0])
		require.ErrorContains(t, CheckDescription(d), why)
	}
	d := withCredentials()
	d.Credentials = append(d.Credentials, ClientCredentials("partner", "api", "/t", "id", "key"),
		&Credential{Name: "empty"})
	err := CheckDescription(d)
	require.ErrorContains(t, err, `credentials[3] (name "partner"): the name must be`)
	require.ErrorContains(t, err, `credentials[4] (name "empty"): needs oauth2, signature or jwt`)
}

func TestPlansNameDeclaredCredentialsOnce(t *testing.T) {
	d := withCredentials()
	plan := func(names ...string) *Plan {
		return &Plan{Endpoint: "api", Method: "POST", Path: "/a", Credentials: names, Headers: map[string]string{}}
	}
	check := func(p *Plan) error {
		decision, _ := Send(p)
		return CheckDecision(d, decision)
	}
	require.NoError(t, check(plan("partner", "renewed", "signed")))
	require.ErrorContains(t, check(plan("other")), `credential "other" is not declared`)
	require.ErrorContains(t, check(plan("signed", "signed")), `names the credential "signed" twice`)
	p := plan("signed")
	p.Headers["x-timestamp"] = "1"
	require.ErrorContains(t, check(p), `header X-Timestamp, which its credential "signed" sets`)
	p = plan("partner")
	p.SecretHeaders = []*SecretHeader{{Header: "authorization", Secret: "key", Template: "{secret}"}}
	require.ErrorContains(t, check(p), `header Authorization, which its credential "partner" sets`)
}

func TestManifestNamesTheCredentials(t *testing.T) {
	d := withCredentials()
	m := ManifestOf(d, "", Binary{OS: AnySystem, Arch: AnySystem, Path: "a", SHA256: emptyDigest})
	require.NoError(t, m.Check())
	require.NoError(t, m.Matches(d))
	text, err := m.YAML()
	require.NoError(t, err)
	require.Contains(t, string(text), "credentials:\n  - partner\n  - renewed\n  - signed\n")
	d = proto.CloneOf(d)
	d.Credentials = d.Credentials[:1]
	require.ErrorContains(t, m.Matches(d),
		"credentials: the manifest says [partner renewed signed], the plugin [partner]")
	m.Credentials = []string{"A"}
	require.ErrorContains(t, m.Check(), `credentials[0]: name "A"`)
}

// emptyDigest is the SHA-256 digest of nothing.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestSchemeFollowsTheDeclaration(t *testing.T) {
	s := &RequestSignature{Template: "{body}", Algorithm: pb.SignatureAlgorithm_SIGNATURE_ALGORITHM_HMAC_SHA512,
		Encoding: pb.SignatureEncoding_SIGNATURE_ENCODING_BASE64}
	scheme, err := Scheme(s)
	require.NoError(t, err)
	require.Equal(t, []any{signature.SHA512, signature.Base64}, []any{scheme.Algorithm, scheme.Encoding})
	scheme, err = Scheme(&RequestSignature{Template: "{body}",
		Algorithm: pb.SignatureAlgorithm_SIGNATURE_ALGORITHM_HMAC_SHA1})
	require.NoError(t, err)
	require.Equal(t, []any{signature.SHA1, signature.Hex}, []any{scheme.Algorithm, scheme.Encoding})
}

func TestOutboundTemplateHasOutboundPlaceholdersOnly(t *testing.T) {
	for _, text := range []string{"{body}", "{method}\n{path}?{query}\n{timestamp}.{body}", "{{{path}}}"} {
		_, err := Scheme(&RequestSignature{Template: text})
		require.NoError(t, err, text)
	}
	for _, text := range []string{"", "fixed", "{{body}}", "{body", "{body}{nonce}", "{body}{header.Host}",
		"{body}{query.store}"} {
		_, err := Scheme(&RequestSignature{Template: text})
		require.Error(t, err, text)
	}
}
