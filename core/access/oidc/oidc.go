// Package oidc signs people in through an OpenID Connect provider. It implements the authorization code flow (OpenID
// Connect Core 1.0, section 3.1) with PKCE (RFC 7636), state and nonce.
package oidc

import (
	"context"
	"crypto/subtle"
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
	ClientSecret string // "": a public client
}

// Provider is an identity provider. It is discovered at first use, so that the hub can start while the provider is
// down.
type Provider struct {
	config     Config
	client     *http.Client
	discovered atomic.Pointer[oidc.Provider]
}

// requestTimeout bounds every call to the provider.
const requestTimeout = 10 * time.Second

// New returns a Provider. It does not contact it.
func New(config Config) *Provider {
	return &Provider{config: config, client: &http.Client{Timeout: requestTimeout}}
}

var errSignInMismatch = core.Errorf(core.Unauthenticated,
	"this sign-in started in another browser or too long ago: restart it")

// SignInURL returns the provider's URL where a person signs in. The provider then redirects to back, a URL of the
// hub. It returns Unavailable if the provider cannot be reached.
func (p *Provider) SignInURL(ctx context.Context, secret, back string) (string, error) {
	client, _, err := p.discover(p.clientContext(ctx), back)
	if err != nil {
		return "", err
	}
	return client.AuthCodeURL(core.DeriveToken("state", secret), oidc.Nonce(core.DeriveToken("nonce", secret)),
		oauth2.S256ChallengeOption(core.DeriveToken("verifier", secret))), nil
}

// Verify checks the redirect from the provider and returns the verified e-mail address, in lower case. It returns
// Unauthenticated if the sign-in did not start with the secret, and Forbidden if the provider does not confirm the
// address. It returns Unavailable if the provider cannot be reached.
func (p *Provider) Verify(ctx context.Context, secret, back, state, code string) (email string, err error) {
	if secret == "" || subtle.ConstantTimeCompare([]byte(state), []byte(core.DeriveToken("state", secret))) != 1 {
		return "", errSignInMismatch
	}
	ctx = p.clientContext(ctx)
	client, provider, err := p.discover(ctx, back)
	if err != nil {
		return "", err
	}
	tokens, err := client.Exchange(ctx, code, oauth2.VerifierOption(core.DeriveToken("verifier", secret)))
	if err != nil {
		return "", forbidden("the identity provider did not accept the sign-in", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := provider.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return "", forbidden("the identity provider sent an invalid identity", err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(core.DeriveToken("nonce", secret))) != 1 {
		return "", errSignInMismatch
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send text
	}
	if err := token.Claims(&claims); err != nil {
		return "", forbidden("the identity provider sent an invalid identity", err)
	}
	if claims.Email == "" || claims.Verified != true && claims.Verified != "true" {
		return "", core.Errorf(core.Forbidden,
			"the identity provider has not verified your e-mail address, or does not allow the scope email")
	}
	return strings.ToLower(claims.Email), nil
}

func forbidden(message string, cause error) error {
	return &core.Error{Code: core.Forbidden, Message: message, Cause: cause}
}

// clientContext returns a context with the provider's HTTP client, which has a timeout.
func (p *Provider) clientContext(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

func (p *Provider) discover(ctx context.Context, back string) (*oauth2.Config, *oidc.Provider, error) {
	found := p.discovered.Load()
	if found == nil {
		var err error
		// The keys are fetched later with the same context: it must not end with the request.
		if found, err = oidc.NewProvider(context.WithoutCancel(ctx), p.config.Issuer); err != nil {
			return nil, nil, &core.Error{Code: core.Unavailable,
				Message: "the identity provider is unreachable: retry, or sign in with a password", Cause: err}
		}
		p.discovered.Store(found)
	}
	return &oauth2.Config{ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: back,
		Scopes:      []string{oidc.ScopeOpenID, "email"}}, found, nil
}
