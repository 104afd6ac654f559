package relay

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// secretPlaceholder is the placeholder for the secret in the template of a secret header.
const secretPlaceholder = "{secret}"

// buildRequest builds the request of a plan. It adds the URL that the platform has for the endpoint, and the secrets.
// The host must be one that the plugin's manifest allows. The error states what is missing.
func (p Plan) buildRequest(access Access) (Request, error) {
	address := access.BaseURLs[p.Endpoint]
	if address == "" {
		return Request{}, fmt.Errorf("the platform has no URL for the endpoint %q of its plugin", p.Endpoint)
	}
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return Request{}, fmt.Errorf("the platform's URL for the endpoint %q is not an http or https URL",
			p.Endpoint)
	}
	if !p.allows(base.Hostname()) {
		return Request{},
			fmt.Errorf("the plugin may not call the host %s for the endpoint %q, only: %s",
				base.Hostname(), p.Endpoint, strings.Join(p.Hosts, ", "))
	}
	target, err := url.Parse(strings.TrimSuffix(base.Scheme+"://"+base.Host+base.EscapedPath(), "/") + p.Path)
	if err != nil || target.Host != base.Host || !strings.HasPrefix(p.Path, "/") {
		return Request{}, errors.New("the plan's path is not a path")
	}
	query := base.Query()
	for name, value := range p.Query {
		query.Set(name, value)
	}
	target.RawQuery = query.Encode()
	r := Request{Method: p.Method, URL: target.String(), Headers: p.Headers, Secrets: map[string]string{}, Body: p.Body}
	for _, h := range p.Secrets {
		secret, known := access.Secrets[h.Secret]
		if !known {
			return Request{}, fmt.Errorf("the platform has no secret %q, which its plugin requires", h.Secret)
		}
		if r.Secrets[h.Header] = strings.Replace(h.Template, secretPlaceholder, secret,
			1); !httpguts.ValidHeaderFieldValue(r.Secrets[h.Header]) {
			return Request{},
				fmt.Errorf("the platform's secret %q has a character that is not allowed in a header",
					h.Secret)
		}
	}
	return r, nil
}

func (p Plan) allows(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(p.Hosts, func(allowed string) bool {
		below, wild := strings.CutPrefix(allowed, "*")
		return host == allowed || wild && strings.HasSuffix(host, below) && len(host) > len(below)
	})
}
