package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// The placeholders of the headers of credentials.
const (
	TokenPlaceholder     = "{token}"
	SignaturePlaceholder = "{signature}"
	TimestampPlaceholder = "{timestamp}"
)

// The default header and template of an access token (RFC 6750, 2.1).
const (
	defaultTokenHeader   = "Authorization"
	defaultTokenTemplate = "Bearer " + TokenPlaceholder
)

// Bounds of a rate limit.
const (
	maxRateRequests = 100_000
	maxRatePeriod   = 3600
)

// ClientCredentials declares an OAuth 2.0 access token by client credentials. The token request goes to a path of a
// declared endpoint. The client id and secret are names of declared secrets.
func ClientCredentials(name, endpoint, path, clientID, clientSecret string) *Credential {
	return &Credential{Name: name, Kind: &pb.Credential_Oauth2{Oauth2: &OAuth2{
		Grant:    pb.TokenGrant_TOKEN_GRANT_CLIENT_CREDENTIALS,
		Endpoint: endpoint, Path: path, ClientId: clientID, ClientSecret: clientSecret}}}
}

// Signed declares a header with the HMAC-SHA256 of a request, in hexadecimal. The key is the name of a declared
// secret. The template is the text to sign, such as "{timestamp}.{body}".
func Signed(name, header, key, template string) *Credential {
	return &Credential{Name: name, Kind: &pb.Credential_Signature{Signature: &RequestSignature{Secret: key,
		Template: template, Header: header}}}
}

// CredentialHeaders returns the headers that a credential adds to a plan's request.
func CredentialHeaders(credential *Credential) (names []string) {
	switch {
	case credential.GetOauth2() != nil:
		return []string{TokenHeader(credential.GetOauth2())}
	case credential.GetSignature().GetTimestampHeader() != "":
		return []string{credential.GetSignature().GetHeader(), credential.GetSignature().GetTimestampHeader()}
	case credential.GetSignature() != nil:
		return []string{credential.GetSignature().GetHeader()}
	case credential.GetJwt() != nil:
		return []string{WebTokenHeader(credential.GetJwt())}
	}
	return nil
}

// TokenHeader returns the header of an access token.
func TokenHeader(o *OAuth2) string { return cmp.Or(o.GetHeader(), defaultTokenHeader) }

// TokenTemplate returns the template of that header.
func TokenTemplate(o *OAuth2) string { return cmp.Or(o.GetTemplate(), defaultTokenTemplate) }

// SignatureValue returns the template of the header of a signature.
func SignatureValue(s *RequestSignature) string { return cmp.Or(s.GetValue(), SignaturePlaceholder) }

// Scheme returns how a signature is computed. Its template must be valid.
func Scheme(s *RequestSignature) (signature.Scheme, error) {
	template, err := parseOutbound(s.GetTemplate())
	scheme := signature.Scheme{Template: template, Algorithm: signature.SHA256, Encoding: signature.Hex}
	switch s.GetAlgorithm() {
	case pb.SignatureAlgorithm_SIGNATURE_ALGORITHM_HMAC_SHA1:
		scheme.Algorithm = signature.SHA1
	case pb.SignatureAlgorithm_SIGNATURE_ALGORITHM_HMAC_SHA512:
		scheme.Algorithm = signature.SHA512
	}
	if s.GetEncoding() == pb.SignatureEncoding_SIGNATURE_ENCODING_BASE64 {
		scheme.Encoding = signature.Base64
	}
	return scheme, err
}

// parseOutbound parses the template of an outbound request's signature.
func parseOutbound(text string) (signature.Template, error) {
	template, err := signature.Parse(text)
	if err != nil {
		return nil, err
	}
	if template.Uses(signature.Nonce) || template.Uses(signature.Header) || template.Uses(signature.Parameter) {
		return nil, errors.New("must not have {nonce}, {header.NAME} or {query.NAME}")
	}
	if !slices.ContainsFunc(template, func(p signature.Part) bool { return p.Source != signature.Literal }) {
		return nil, errors.New("needs a placeholder, such as {body}")
	}
	return template, nil
}

// credentials checks the declared credentials.
func (c *validation) credentials(d *Description) {
	var names []string
	for i, credential := range d.GetCredentials() {
		at := fmt.Sprintf("credentials[%d] (name %q)", i, credential.GetName())
		c.check(namePattern.MatchString(credential.GetName()) && !slices.Contains(names, credential.GetName()),
			"%s: the name must be lower-case letters, digits and underscores, and unique", at)
		names = append(names, credential.GetName())
		switch {
		case credential.GetOauth2() != nil:
			c.oauth2(at+": oauth2", d, credential.GetOauth2())
		case credential.GetSignature() != nil:
			c.requestSignature(at+": signature", d, credential.GetSignature())
		case credential.GetJwt() != nil:
			c.webToken(at+": jwt", d, credential.GetJwt())
		default:
			c.check(false, "%s: needs oauth2, signature or jwt", at)
		}
		for _, header := range CredentialHeaders(credential) {
			c.header(header)
		}
	}
}

func (c *validation) oauth2(at string, d *Description, o *OAuth2) {
	refresh := o.GetGrant() == pb.TokenGrant_TOKEN_GRANT_REFRESH_TOKEN
	c.check(refresh || o.GetGrant() == pb.TokenGrant_TOKEN_GRANT_CLIENT_CREDENTIALS, "%s: grant %d: is not known", at,
		o.GetGrant())
	c.check(clientAuthenticationKnown(o.GetAuthentication()), "%s: authentication %d: is not known", at,
		o.GetAuthentication())
	c.secretName(at+": client_id", d, o.GetClientId(), true)
	c.secretName(at+": client_secret", d, o.GetClientSecret(), !refresh)
	c.secretName(at+": refresh_token", d, o.GetRefreshToken(), refresh)
	c.check(refresh || o.GetRefreshToken() == "", "%s: refresh_token: is only for the grant of that name", at)
	c.check((o.GetEndpoint() == "") != (o.GetTokenUrl() == ""), "%s: needs either endpoint and path, or token_url", at)
	if o.GetEndpoint() != "" {
		c.check(endpointOf(d, o.GetEndpoint()) != nil, "%s: endpoint %q: is not declared", at, o.GetEndpoint())
		c.check(isPlainPath(o.GetPath()),
			"%s: path %q: must begin with a slash and have no host, query, fragment or '..', "+
				"and its segments must be escaped", at, o.GetPath())
	} else {
		c.check(o.GetPath() == "", "%s: path: needs an endpoint", at)
		c.allowedURL(at+": token_url", d, o.GetTokenUrl())
	}
	c.parameters(at+": parameters", o.GetParameters(), "grant_type", "client_id", "client_secret", "refresh_token",
		"scope", "code", "redirect_uri", "code_verifier")
	c.check(refresh || o.GetAuthorizeUrl() == "", "%s: authorize_url: is only for the grant refresh_token", at)
	c.check(o.GetAuthorizeUrl() != "" || len(o.GetAuthorizeParameters()) == 0,
		"%s: authorize_parameters: need authorize_url", at)
	if o.GetAuthorizeUrl() != "" {
		c.allowedURL(at+": authorize_url", d, o.GetAuthorizeUrl())
	}
	c.parameters(at+": authorize_parameters", o.GetAuthorizeParameters(), "response_type", "client_id", "redirect_uri",
		"scope", "state", "code_challenge", "code_challenge_method")
	c.template(at+": template", TokenTemplate(o), TokenPlaceholder)
}

func clientAuthenticationKnown(a pb.ClientAuthentication) bool {
	_, known := pb.ClientAuthentication_name[int32(a)]
	return known
}

// parameters checks that no parameter is one that the hub sets.
func (c *validation) parameters(at string, parameters map[string]string, taken ...string) {
	for name := range parameters {
		c.check(name != "" && !slices.Contains(taken, name), "%s: %q is set by the hub", at, name)
	}
}

// allowedURL checks that a URL uses HTTPS, or HTTP on loopback, and a host that an endpoint allows.
func (c *validation) allowedURL(at string, d *Description, address string) {
	u, err := url.Parse(address)
	plain := err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
	c.check(plain, "%s %q: must be a URL without query", at, address)
	if !plain {
		return
	}
	host := strings.ToLower(u.Hostname())
	ip := net.ParseIP(host)
	c.check(u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || ip != nil && ip.IsLoopback()),
		"%s %q: must begin with https://", at, address)
	c.check(AllowsHost(AllHosts(d), host), "%s: host %s is allowed by no endpoint", at, host)
}

// AllHosts returns the hosts that the endpoints of a description allow.
func AllHosts(d *Description) (hosts []string) {
	for _, e := range d.GetEndpoints() {
		hosts = append(hosts, e.GetHosts()...)
	}
	return hosts
}

// AllowsHost reports whether a host in lower case is one of the allowed hosts. *.example.com allows all subdomains of
// example.com.
func AllowsHost(hosts []string, host string) bool {
	return slices.ContainsFunc(hosts, func(allowed string) bool {
		below, wild := strings.CutPrefix(allowed, "*")
		return host == allowed || wild && strings.HasSuffix(host, below) && len(host) > len(below)
	})
}

func (c *validation) requestSignature(at string, d *Description, s *RequestSignature) {
	c.secretName(at+": secret", d, s.GetSecret(), true)
	_, algorithm := pb.SignatureAlgorithm_name[int32(s.GetAlgorithm())]
	_, encoding := pb.SignatureEncoding_name[int32(s.GetEncoding())]
	_, format := pb.TimestampFormat_name[int32(s.GetTimestampFormat())]
	c.check(algorithm && encoding && format, "%s: the algorithm, encoding or timestamp_format is not known", at)
	scheme, err := Scheme(s)
	if err != nil {
		c.check(false, "%s: template: %v", at, err)
	}
	c.template(at+": value", strings.ReplaceAll(SignatureValue(s), TimestampPlaceholder, ""), SignaturePlaceholder)
	sent := s.GetTimestampHeader() != "" || strings.Contains(s.GetValue(), TimestampPlaceholder)
	c.check(sent || !scheme.Template.Uses(signature.Timestamp),
		"%s: template: {timestamp} needs a timestamp_header, or {timestamp} in the value", at)
	c.check(!strings.EqualFold(s.GetHeader(), s.GetTimestampHeader()),
		"%s: timestamp_header: must differ from header", at)
}

// template checks the template of a header.
func (c *validation) template(at, template, placeholder string) {
	c.check(strings.Count(template, placeholder) == 1 && httpguts.ValidHeaderFieldValue(template),
		"%s: %q must have %s once, and no control characters", at, template, placeholder)
}

// secretName checks the name of a declared secret.
func (c *validation) secretName(at string, d *Description, name string, required bool) {
	declared := slices.ContainsFunc(d.GetSecrets(), func(s *pb.Secret) bool { return s.GetName() == name })
	c.check(declared || name == "" && !required, "%s: secret %q: is not declared", at, name)
}

// transports checks the certificates and rate limits of endpoints.
func (c *validation) transports(d *Description) {
	for i, e := range d.GetEndpoints() {
		at := fmt.Sprintf("endpoints[%d] (name %q)", i, e.GetName())
		certified := e.GetCertificate() != "" || e.GetCertificateKey() != ""
		c.secretName(at+": certificate", d, e.GetCertificate(), certified)
		c.secretName(at+": certificate_key", d, e.GetCertificateKey(), certified)
		if limit := e.GetRateLimit(); limit != nil {
			c.check(limit.GetRequests() >= 1 && limit.GetRequests() <= maxRateRequests,
				"%s: rate_limit: requests: must be from 1 to %d", at, maxRateRequests)
			c.check(limit.GetPeriodSeconds() <= maxRatePeriod && limit.GetBurst() <= maxRateRequests,
				"%s: rate_limit: period_seconds: at most %d, and burst: at most %d", at, maxRatePeriod, maxRateRequests)
			c.check(pb.RateScope_name[int32(limit.GetScope())] != "", "%s: rate_limit: scope: %d is unknown", at,
				limit.GetScope())
		}
	}
}

func endpointOf(d *Description, name string) *pb.Endpoint {
	for _, e := range d.GetEndpoints() {
		if e.GetName() == name {
			return e
		}
	}
	return nil
}

// planCredentials checks the credentials that a plan names.
func (c *validation) planCredentials(d *Description, plan *Plan) {
	var taken []string
	for name := range plan.GetHeaders() {
		taken = append(taken, http.CanonicalHeaderKey(name))
	}
	for _, h := range plan.GetSecretHeaders() {
		taken = append(taken, http.CanonicalHeaderKey(h.GetHeader()))
	}
	for i, name := range plan.GetCredentials() {
		at := slices.IndexFunc(d.GetCredentials(), func(o *Credential) bool { return o.GetName() == name })
		c.check(at >= 0, "the plan's credential %q is not declared", name)
		c.check(!slices.Contains(plan.GetCredentials()[:i], name), "the plan names the credential %q twice", name)
		if at < 0 {
			continue
		}
		for _, header := range CredentialHeaders(d.GetCredentials()[at]) {
			header = http.CanonicalHeaderKey(header)
			c.check(!slices.Contains(taken, header), "the plan has the header %s, which its credential %q sets", header,
				name)
			taken = append(taken, header)
		}
	}
}
