package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/servery-hub/servery/core/access/oidc"
	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/hub"
)

// identityFlags are the URL of the console and the identity provider of its users.
type identityFlags struct {
	BaseURL      string   `name:"base-url" env:"SERVERY_BASE_URL" help:"Address of the hub as people reach it; without it, as each request names it."`
	Issuer       string   `name:"oidc-issuer" env:"SERVERY_OIDC_ISSUER" help:"OpenID Connect provider by which people sign in to the console."`
	ClientID     string   `name:"oidc-client-id" env:"SERVERY_OIDC_CLIENT_ID" help:"The hub's name at the provider."`
	ClientSecret string   `name:"oidc-client-secret" env:"SERVERY_OIDC_CLIENT_SECRET" help:"The hub's secret at the provider."`
	Proxies      []string `name:"trusted-proxies" env:"SERVERY_TRUSTED_PROXIES" default:"127.0.0.0/8,::1/128" help:"Address ranges (CIDR) of proxies before the hub, whose X-Forwarded-For says who signs in."`
	Domains      []string `name:"oidc-domains" env:"SERVERY_OIDC_DOMAINS" help:"Domains of addresses whose people need not be made first: they come in as viewers of nothing."`
}

// wrong returns the mistakes in the flags.
func (f identityFlags) wrong() (mistakes []error) {
	if f.BaseURL != "" {
		if err := wrongBase(f.BaseURL); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if f.Issuer != "" && !environ.IsURL(f.Issuer) {
		mistakes = append(mistakes,
			errors.New("SERVERY_OIDC_ISSUER: must be a URL such as https://id.example.com"))
	}
	if (f.Issuer == "") != (f.ClientID == "") {
		mistakes = append(mistakes, errors.New("SERVERY_OIDC_ISSUER and SERVERY_OIDC_CLIENT_ID: set both or neither"))
	}
	for _, text := range f.Proxies {
		if _, err := netip.ParsePrefix(strings.TrimSpace(text)); err != nil {
			mistakes = append(mistakes,
				fmt.Errorf("SERVERY_TRUSTED_PROXIES: must be CIDR ranges such as 10.1.0.0/16, not %q", text))
		}
	}
	if f.Issuer == "" && len(f.Domains) > 0 {
		mistakes = append(mistakes, errors.New("SERVERY_OIDC_DOMAINS: requires SERVERY_OIDC_ISSUER"))
	}
	return mistakes
}

// trusted returns the address ranges of proxies, without the invalid ones.
func (f identityFlags) trusted() (ranges []netip.Prefix) {
	for _, text := range f.Proxies {
		if prefix, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			ranges = append(ranges, prefix.Masked())
		}
	}
	return ranges
}

// identity converts the flags.
func (f identityFlags) identity() hub.Identity {
	return hub.Identity{BaseURL: strings.TrimSuffix(f.BaseURL, "/"), Proxies: f.trusted(), Domains: f.Domains,
		Provider: oidc.Config{Issuer: f.Issuer, ClientID: f.ClientID, ClientSecret: f.ClientSecret}}
}
