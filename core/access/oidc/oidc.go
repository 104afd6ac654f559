// Package oidc has people vouched for by an OpenID Connect provider: the
// authorization code flow (OpenID Connect Core 1.0, section 3.1) with PKCE
// (RFC 7636), state and nonce.
package oidc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/servery-hub/servery/core"
)

// Config names a provider and the hub's registration with it.
type Config struct {
	Issuer       string // such as https://accounts.example.com
	ClientID     string
	ClientSecret string // "" of a public client
}

// Provider is an identity provider. It is asked for its addresses when it is
// first needed, so that a hub starts while it is away.
type Provider struct {
	config Config
	client *http.Client
	found  atomic.Pointer[oidc.Provider]
}

// patience bounds every call of the provider.
const patience = 10 * time.Second

// New makes a provider.
func New(config Config) *Provider {
	return &Provider{config: config, client: &http.Client{Timeout: patience}}
}

// derived is one of the three values that a sign-in needs, made of its secret:
// none of them tells another.
func derived(purpose, secret string) string {
	sum := sha256.Sum256([]byte(purpose + "/" + secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

var errBegun = core.Errorf(core.Unauthenticated,
	"this sign-in started in another browser or too long ago: restart it")

// Begin is the provider's address at which a person signs in; they come back
// to the given address of the hub. Unavailable when the provider does not answer.
func (p *Provider) Begin(ctx context.Context, secret, back string) (string, error) {
	client, _, err := p.discover(p.calling(ctx), back)
	if err != nil {
		return "", err
	}
	return client.AuthCodeURL(derived("state", secret), oidc.Nonce(derived("nonce", secret)),
		oauth2.S256ChallengeOption(derived("verifier", secret))), nil
}

// Finish is the address of the person who came back, in lower case: the
// provider vouches that it is theirs. Unauthenticated where the sign-in was not
// begun with the secret, Forbidden where the provider does not vouch, Unavailable
// when it cannot be asked.
func (p *Provider) Finish(ctx context.Context, secret, back, state, code string) (email string, err error) {
	if secret == "" || subtle.ConstantTimeCompare([]byte(state), []byte(derived("state", secret))) != 1 {
		return "", errBegun
	}
	ctx = p.calling(ctx)
	client, provider, err := p.discover(ctx, back)
	if err != nil {
		return "", err
	}
	tokens, err := client.Exchange(ctx, code, oauth2.VerifierOption(derived("verifier", secret)))
	if err != nil {
		return "", refused("the identity provider did not accept the sign-in", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := provider.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return "", refused("the identity provider sent an invalid identity", err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(derived("nonce", secret))) != 1 {
		return "", errBegun
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send text
	}
	if err := token.Claims(&claims); err != nil {
		return "", refused("the identity provider sent an invalid identity", err)
	}
	if claims.Email == "" || claims.Verified != true && claims.Verified != "true" {
		return "", core.Errorf(core.Forbidden,
			"the identity provider has not verified your e-mail address, or does not allow the scope email")
	}
	return strings.ToLower(claims.Email), nil
}

func refused(message string, cause error) error {
	return &core.Error{Code: core.Forbidden, Message: message, Cause: cause}
}

// calling has calls made by the provider's own client, which has a deadline.
func (p *Provider) calling(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

func (p *Provider) discover(ctx context.Context, back string) (*oauth2.Config, *oidc.Provider, error) {
	found := p.found.Load()
	if found == nil {
		var err error
		// The keys are fetched later with the same context: it must not end with the request.
		if found, err = oidc.NewProvider(context.WithoutCancel(ctx), p.config.Issuer); err != nil {
			return nil, nil, &core.Error{Code: core.Unavailable,
				Message: "the identity provider is unreachable: retry, or sign in with a password", Cause: err}
		}
		p.found.Store(found)
	}
	return &oauth2.Config{ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: back,
		Scopes:      []string{oidc.ScopeOpenID, "email"}}, found, nil
}
