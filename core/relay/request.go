package relay

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/core"
)

// secretPlaceholder is the placeholder for the secret in the template of a secret header.
const secretPlaceholder = "{secret}"

// buildRequest builds the request of a plan. It adds the URL that the platform has for the endpoint, and the secrets.
// The host must be one that the plugin's manifest allows. The error states what is missing.
func (p Plan) buildRequest(access Access, store string) (Request, error) {
	target, err := p.url(access)
	if err != nil {
		return Request{}, err
	}
	r := Request{Method: p.Method, URL: target.String(), Headers: p.Headers, Secrets: map[string]string{}, Body: p.Body}
	maps.Copy(r.Secrets, p.secrets)
	for _, h := range p.Secrets {
		secret, _, err := access.RequiredSecret(h.Secret, store)
		if err != nil {
			return Request{}, err
		}
		if r.Secrets[h.Header] = strings.Replace(h.Template, secretPlaceholder, secret,
			1); !httpguts.ValidHeaderFieldValue(r.Secrets[h.Header]) {
			return Request{}, missingSetting("the platform's secret %q has a character that is not allowed in a header",
				h.Secret)
		}
	}
	r.Certificate, err = access.ClientCertificate(p.Certificate, store)
	return r, err
}

// url returns the URL of the request, with its query.
func (p Plan) url(access Access) (*url.URL, error) {
	if p.target != nil {
		target := *p.target
		if len(p.Query) > 0 {
			target.RawQuery = strings.TrimPrefix(target.RawQuery+"&"+queryOf(nil, p.Query), "&")
		}
		return &target, nil
	}
	if p.URL != "" {
		return p.link(access)
	}
	target, err := access.EndpointURL(p.Endpoint, p.Hosts, p.Path)
	if err == nil {
		target.RawQuery = queryOf(target.Query(), p.Query)
	}
	return target, err
}

// link returns the URL that the plan itself has. The endpoint must allow its host and port, and it is as safe as the
// endpoint's own URL.
func (p Plan) link(access Access) (*url.URL, error) {
	base, err := access.EndpointURL(p.Endpoint, p.Hosts, "/")
	if err != nil {
		return nil, err
	}
	target, err := p.allowedLink()
	if err != nil {
		return nil, err
	}
	if target.Scheme != base.Scheme && target.Scheme != "https" {
		return nil, core.Errorf(core.Invalid, "the link of the request must use https")
	}
	if hasForeignPort(target, base) {
		return nil, core.Errorf(core.Invalid, "the link of the request has a port that is not that of the endpoint %q",
			p.Endpoint)
	}
	if len(p.Query) > 0 {
		target.RawQuery = strings.TrimPrefix(target.RawQuery+"&"+queryOf(nil, p.Query), "&")
	}
	return target, nil
}

// hasForeignPort reports whether a URL of an aggregator names a port that is neither that of the endpoint's own URL nor
// the default one.
func hasForeignPort(target, base *url.URL) bool {
	port := target.Port()
	return port != "" && port != base.Port() && port != defaultPorts[target.Scheme]
}

// CheckLink returns Invalid if the plan has a URL that must not be fetched.
func (p Plan) CheckLink() error {
	if p.URL == "" {
		return nil
	}
	_, err := p.allowedLink()
	return err
}

func (p Plan) allowedLink() (*url.URL, error) {
	target, err := url.Parse(p.URL)
	if err != nil || target.Host == "" || target.User != nil || target.Scheme != "http" && target.Scheme != "https" {
		return nil, core.Errorf(core.Invalid, "the link of the request is not an http or https URL")
	}
	if !AllowsHost(p.Hosts, target.Hostname()) {
		return nil, core.Errorf(core.Invalid, "the link of the request has a host that the endpoint %q does not allow",
			p.Endpoint)
	}
	return target, nil
}

func queryOf(query url.Values, parameters map[string]string) string {
	if query == nil {
		query = url.Values{}
	}
	for name, value := range parameters {
		query.Set(name, value)
	}
	return query.Encode()
}

// EndpointURL returns the URL of a path below the URL of an endpoint, with the query of the endpoint's URL. The host
// must be an allowed one. Its error is a MissingSettingError.
func (a Access) EndpointURL(endpoint string, hosts []string, path string) (*url.URL, error) {
	address := a.BaseURLs[endpoint]
	if address == "" {
		return nil, missingSetting("the platform has no URL for the endpoint %q of its plugin", endpoint)
	}
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, missingSetting("the platform's URL for the endpoint %q is not an http or https URL", endpoint)
	}
	if !AllowsHost(hosts, base.Hostname()) {
		return nil, missingSetting("the plugin may not call the host %s for the endpoint %q, only: %s",
			base.Hostname(), endpoint, strings.Join(hosts, ", "))
	}
	target, err := url.Parse(strings.TrimSuffix(base.Scheme+"://"+base.Host+base.EscapedPath(), "/") + path)
	if err != nil || target.Host != base.Host || !strings.HasPrefix(path, "/") {
		return nil, missingSetting("the plan's path is not a path")
	}
	target.RawQuery = base.RawQuery
	return target, nil
}

// AllowsHost reports whether a host is one of the allowed ones. *.example.com matches every subdomain of example.com.
func AllowsHost(hosts []string, host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(hosts, func(allowed string) bool {
		below, wild := strings.CutPrefix(allowed, "*")
		return host == allowed || wild && strings.HasSuffix(host, below) && len(host) > len(below)
	})
}
