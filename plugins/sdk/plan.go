package sdk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// SecretPlace stands, in the template of a secret header, for the secret.
const SecretPlace = "{secret}"

// CheckDecision names everything in which a decision cannot be carried out: an
// endpoint or secret that the description does not declare, a method or path
// that is none, a header of the hub's own.
func CheckDecision(d *Description, decision *Decision) error {
	c := &faults{}
	plan := decision.GetPlan()
	if plan == nil {
		c.check(decision.GetSkip() != "", "a decision is a plan, or a reason to skip")
		return c.err()
	}
	endpoint := func(e *pb.Endpoint) bool { return e.GetName() == plan.GetEndpoint() }
	c.check(slices.ContainsFunc(d.GetEndpoints(), endpoint), "the plan's endpoint %q is not declared", plan.GetEndpoint())
	verbs := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	c.check(slices.Contains(verbs, plan.GetMethod()), "the plan's method %q is none of %v", plan.GetMethod(), verbs)
	parsed, err := url.Parse(plan.GetPath())
	plain := err == nil && strings.HasPrefix(plan.GetPath(), "/") && parsed.Host == "" && parsed.RawQuery == "" && parsed.Fragment == "" &&
		!slices.Contains(strings.Split(parsed.Path, "/"), "..")
	c.check(plain, "the plan's path %q must begin with a slash and have no host, query, fragment or '..'", plan.GetPath())
	for name, value := range plan.GetHeaders() {
		c.header(name)
		c.check(!strings.ContainsAny(value, "\r\n\x00"), "the plan's header %s has a line break", name)
	}
	for _, h := range plan.GetSecretHeaders() {
		c.header(h.GetHeader())
		named := func(s *pb.Secret) bool { return s.GetName() == h.GetSecret() }
		c.check(slices.ContainsFunc(d.GetSecrets(), named), "the plan's secret %q is not declared", h.GetSecret())
		c.check(strings.Count(h.GetTemplate(), SecretPlace) == 1, "the template of header %s must hold %s once", h.GetHeader(), SecretPlace)
	}
	return c.err()
}

// header refuses the headers that are the hub's, and names that are none.
func (c *faults) header(name string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	c.check(name != "" && strings.Trim(name, letters) == "", "%q is no header name", name)
	taken := []string{"Host", "Content-Length", "Connection", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Keep-Alive"}
	c.check(!slices.Contains(taken, http.CanonicalHeaderKey(name)), "header %s is set by the hub", name)
}
