package hub

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/core/access/oidc"
)

// Identity configures how people reach the console and sign in.
type Identity struct {
	BaseURL  string         // of the console; "": the host of each request
	Proxies  []netip.Prefix // that X-Forwarded-For is accepted from
	Provider oidc.Config    // the zero value: no provider
	Domains  []string       // email domains whose users are created at sign-in
}

// validate returns the mistakes.
func (i Identity) validate() (mistakes []error) {
	if (i.Provider.Issuer == "") != (i.Provider.ClientID == "") {
		mistakes = append(mistakes,
			errors.New("SERVERY_OIDC_ISSUER and SERVERY_OIDC_CLIENT_ID: set both or neither"))
	}
	if i.Provider.Issuer == "" && len(i.Domains) > 0 {
		mistakes = append(mistakes, errors.New("SERVERY_OIDC_DOMAINS: requires SERVERY_OIDC_ISSUER"))
	}
	return mistakes
}

// configure sets the identity in the console's configuration.
func (i Identity) configure(c *adminui.Config) {
	c.BaseURL, c.Proxies = i.BaseURL, i.Proxies
	if i.Provider.Issuer == "" {
		return
	}
	c.Provider = oidc.New(i.Provider)
	for _, domain := range i.Domains {
		c.Accounts.Domains = append(c.Accounts.Domains,
			strings.ToLower(strings.TrimPrefix(strings.TrimSpace(domain), "@")))
	}
}
