package aggregator

import (
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// addDeclared adds to a plan what its plugin declares for its endpoint and its credentials. It fails if one of them is
// not declared: the request would lack the bounds of its hosts, its rate limit or its signature.
func addDeclared(about *sdk.Description, p *sdk.Plan, plan *relay.Plan) error {
	e := endpointOf(about, plan.Endpoint)
	if e == nil {
		return undeclared("endpoint", plan.Endpoint)
	}
	plan.Hosts, plan.Certificate = e.GetHosts(), certificateOf(e)
	if limit := e.GetRateLimit(); limit.GetRequests() > 0 {
		plan.RateLimit = relay.RateLimit{Requests: int(limit.GetRequests()), Burst: int(limit.GetBurst()),
			Period: time.Duration(max(limit.GetPeriodSeconds(), 1)) * time.Second,
			Scope:  rateScopes[limit.GetScope()]}
	}
	var known []string
	for _, declared := range about.GetCredentials() {
		known = append(known, declared.GetName())
		if slices.Contains(p.GetCredentials(), declared.GetName()) {
			plan.Credentials = append(plan.Credentials, credentialOf(about, declared))
		}
	}
	for _, name := range p.GetCredentials() {
		if !slices.Contains(known, name) {
			return undeclared("credential", name)
		}
	}
	return nil
}

func undeclared(what, name string) error {
	return core.Errorf(core.Internal, "the plugin planned a request with the %s %q, which it does not declare", what,
		name)
}

var rateScopes = map[pb.RateScope]relay.RateScope{pb.RateScope_RATE_SCOPE_STORE: relay.RatePerStore,
	pb.RateScope_RATE_SCOPE_ORDER: relay.RatePerOrder}

func endpointOf(about *sdk.Description, name string) *pb.Endpoint {
	for _, e := range about.GetEndpoints() {
		if e.GetName() == name {
			return e
		}
	}
	return nil
}

func certificateOf(e *pb.Endpoint) relay.Certificate {
	return relay.Certificate{Chain: e.GetCertificate(), Key: e.GetCertificateKey()}
}

// Credential returns a credential that a plugin declares.
func (h *Host) Credential(plugin, name string) (relay.Credential, error) {
	about := h.description(plugin)
	for _, declared := range about.GetCredentials() {
		if declared.GetName() == name {
			return credentialOf(about, declared), nil
		}
	}
	return relay.Credential{}, core.Errorf(core.NotFound, "the plugin %q has no credential %q", plugin, name)
}

// credentialOf converts a declared credential, which the SDK has checked.
func credentialOf(about *sdk.Description, declared *sdk.Credential) relay.Credential {
	if s := declared.GetSignature(); s != nil {
		scheme, _ := sdk.Scheme(s)
		return relay.Credential{Name: declared.GetName(), Signature: &relay.Signature{Secret: s.GetSecret(),
			Scheme: scheme, Header: s.GetHeader(), Value: sdk.SignatureValue(s),
			TimestampHeader: s.GetTimestampHeader(),
			Timestamp:       signatureTimestamps[s.GetTimestampFormat()]}}
	}
	if t := declared.GetJwt(); t != nil {
		return relay.Credential{Name: declared.GetName(), WebToken: webTokenOf(t)}
	}
	o := declared.GetOauth2()
	out := &relay.OAuth2{Endpoint: o.GetEndpoint(), Hosts: sdk.AllHosts(about), Path: o.GetPath(),
		TokenURL: o.GetTokenUrl(), ClientID: o.GetClientId(), ClientSecret: o.GetClientSecret(),
		RefreshToken: o.GetRefreshToken(), Scope: o.GetScope(), Parameters: o.GetParameters(),
		InBody:       o.GetAuthentication() == pb.ClientAuthentication_CLIENT_AUTHENTICATION_BODY,
		AuthorizeURL: o.GetAuthorizeUrl(), AuthorizeParameters: o.GetAuthorizeParameters(),
		Header: sdk.TokenHeader(o), Template: sdk.TokenTemplate(o)}
	if e := endpointOf(about, o.GetEndpoint()); e != nil {
		out.Hosts, out.Certificate = e.GetHosts(), certificateOf(e)
	}
	return relay.Credential{Name: declared.GetName(), OAuth2: out}
}

var signatureTimestamps = map[pb.TimestampFormat]relay.TimestampFormat{
	pb.TimestampFormat_TIMESTAMP_FORMAT_UNSPECIFIED:  relay.Seconds,
	pb.TimestampFormat_TIMESTAMP_FORMAT_SECONDS:      relay.Seconds,
	pb.TimestampFormat_TIMESTAMP_FORMAT_MILLISECONDS: relay.Milliseconds,
	pb.TimestampFormat_TIMESTAMP_FORMAT_RFC3339:      relay.RFC3339,
}

// CheckSecretName returns Invalid if a plugin has no secret of a name. The name of a store's own value is that of the
// secret, @ and the ref_id of the store.
func CheckSecretName(about *sdk.Description, name string) error {
	name, _, ofStore := strings.Cut(name, "@")
	for _, s := range about.GetSecrets() {
		switch {
		case s.GetName() != name:
		case ofStore && !s.GetPerStore():
			return core.Errorf(core.Invalid, "secret %q: plugin %s has it only for the whole platform", name,
				about.GetId())
		default:
			return nil
		}
	}
	return core.Errorf(core.Invalid, "secret %q: plugin %s has no secret of that name", name, about.GetId())
}

// hasSecret reports whether a platform, or one of its stores, has a secret.
func hasSecret(a *relay.Access, secret *pb.Secret) bool {
	if a.Secrets[secret.GetName()] != "" {
		return true
	}
	for name := range a.Secrets {
		if strings.HasPrefix(name, relay.StoreSecret(secret.GetName(), "")) {
			return true
		}
	}
	return false
}

// invalidCertificates returns the endpoints whose client certificate is complete, but not valid.
func invalidCertificates(a *relay.Access, about *sdk.Description) (list []string) {
	for _, e := range about.GetEndpoints() {
		c, err := a.ClientCertificate(certificateOf(e), "")
		if err == nil && c != nil && c.Check() != nil {
			list = append(list, "a valid pair of the secrets "+e.GetCertificate()+" and "+e.GetCertificateKey())
		}
	}
	return list
}
