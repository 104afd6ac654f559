package credential

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/url"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Login is a login of a merchant at the aggregator (RFC 6749, 4.1, with RFC 7636). It grants a refresh token.
type Login struct {
	Request relay.TokenRequest // of a credential with an AuthorizeURL
	Secret  string             // from core.NewToken; only the browser that began the login has it
	Back    string             // the URL of the hub where the aggregator redirects
}

// URL returns the URL of the aggregator where the merchant logs in. It returns Invalid if the platform lacks a setting.
func (l Login) URL() (string, error) {
	request, err := l.resolve()
	if err != nil {
		return "", err
	}
	o := l.Request.OAuth2
	challenge := sha256.Sum256([]byte(core.DeriveToken("verifier", l.Secret)))
	query := url.Values{"response_type": {"code"}, "client_id": {request.clientID}, "redirect_uri": {l.Back},
		"state": {core.DeriveToken("state", l.Secret)}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}}
	for name, value := range o.AuthorizeParameters {
		query.Set(name, value)
	}
	if o.Scope != "" {
		query.Set("scope", o.Scope)
	}
	return o.AuthorizeURL + "?" + query.Encode(), nil
}

// resolve returns the token request, without a refresh token, which the platform may not have yet.
func (l Login) resolve() (tokenRequest, error) {
	r := l.Request
	if r.OAuth2.AuthorizeURL == "" {
		return tokenRequest{}, core.Errorf(core.Invalid, "the credential %q has no login", r.Credential)
	}
	without := *r.OAuth2
	without.RefreshToken, r.OAuth2 = "", &without
	request, err := resolve(r)
	if err != nil {
		return request, core.Errorf(core.Invalid, "the login needs a setting of the platform: %v", err)
	}
	return request, nil
}

// RefreshToken returns the refresh token that the aggregator grants for the state and the code of its redirect. It
// returns Invalid if the login began elsewhere, if the platform lacks a setting, or if the aggregator grants none. It
// returns Unavailable if the aggregator does not respond, or cannot process the request now.
func (l Login) RefreshToken(ctx context.Context, sender relay.Sender, state, code string) (token string, err error) {
	expected := core.DeriveToken("state", l.Secret)
	if l.Secret == "" || subtle.ConstantTimeCompare([]byte(state), []byte(expected)) != 1 {
		return "", core.Errorf(core.Invalid, "this login started in another browser or too long ago: log in again")
	}
	request, err := l.resolve()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	granted, _, err := request.send(ctx, sender, url.Values{"grant_type": {"authorization_code"}, "code": {code},
		"redirect_uri": {l.Back}, "code_verifier": {core.DeriveToken("verifier", l.Secret)}})
	if err == nil && granted.refresh == "" {
		err = fmt.Errorf("the aggregator granted no refresh token for the credential %q", l.Request.Credential)
	}
	if err != nil {
		failure := core.Errorf(core.Invalid, "the login failed: %v", err)
		if core.CodeOf(err) == core.Unavailable {
			failure.Code = core.Unavailable
		}
		return "", failure
	}
	return granted.refresh, nil
}
