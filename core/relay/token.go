package relay

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TokenRule specifies the JSON Web Token of a request.
type TokenRule struct {
	Endpoint, Path                 string   // of the key set
	Hosts                          []string // that the manifest allows for the endpoint
	Issuer, Audience               string
	IssuerSetting, AudienceSetting string // the platform's settings that have them instead
}

// ExpectedToken is what a token must have.
type ExpectedToken struct {
	KeySet           Request // fetches the key set
	Issuer, Audience string
}

// Tokens verifies JSON Web Tokens.
type Tokens interface {
	// VerifyToken returns a VerificationError if a token is not valid now, and Unavailable if the key set cannot be
	// fetched.
	VerifyToken(ctx context.Context, token string, expected ExpectedToken) error
}

// The codes of verification errors of tokens.
const (
	CodeTokenUnset     = "token_settings_unset"
	CodeTokenMalformed = "token_malformed"
	CodeTokenAlgorithm = "token_algorithm"
	CodeTokenKey       = "token_key_unknown"
	CodeTokenSignature = "token_signature_wrong"
	CodeTokenIssuer    = "token_issuer_wrong"
	CodeTokenAudience  = "token_audience_wrong"
	CodeTokenTime      = "token_expired"
)

// maxToken bounds a token, in bytes.
const maxToken = 8 << 10

// tokenOf returns the token of a request, and what it must have.
func (p CallbackVerification) tokenOf(k InboundCallback, access Access) (token string, expected ExpectedToken,
	err error) {
	shown := k.Headers[p.Header]
	scheme, token, _ := strings.Cut(shown, " ")
	if shown == "" || !strings.EqualFold(scheme+" ", p.Prefix) {
		return "", expected, unverified(CodeCredentialMissing, "the header %s has no Bearer token", p.Header)
	}
	if len(token) > maxToken {
		return "", expected, unverified(CodeTokenMalformed, "the token has over %d bytes", maxToken)
	}
	expected.Issuer = setting(p.Token.Issuer, p.Token.IssuerSetting, access.Settings)
	expected.Audience = setting(p.Token.Audience, p.Token.AudienceSetting, access.Settings)
	if expected.Issuer == "" || expected.Audience == "" {
		return "", expected, unverified(CodeTokenUnset, "the platform's settings lack %s or %s",
			p.Token.IssuerSetting, p.Token.AudienceSetting)
	}
	keys := Plan{Endpoint: p.Token.Endpoint, Method: http.MethodGet, Path: p.Token.Path, Hosts: p.Token.Hosts}
	if expected.KeySet, err = keys.buildRequest(access, ""); err != nil {
		return "", expected, unverified(CodeTokenUnset, "%v", err)
	}
	return token, expected, nil
}

// setting returns a fixed text, or that of one of the platform's settings.
func setting(fixed, name string, settings []byte) string {
	var members map[string]jsontext.Value
	var text string
	if fixed != "" || json.Unmarshal(settings, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return fixed
	}
	return text
}
