package sdk

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// SecretPlaceholder is replaced with the secret in the template of a secret header.
const SecretPlaceholder = "{secret}"

// CheckDecision returns an error that lists why the hub cannot execute a decision. The endpoint and the secrets must
// be declared in the description. Method, path, headers and success rule must be valid, and the hub's own headers are
// not allowed. A step uses only values of earlier steps.
func CheckDecision(d *Description, decision *Decision) error {
	c := &validation{}
	c.decision(d, decision)
	return c.err()
}

func (c *validation) decision(d *Description, decision *Decision) {
	switch plan := decision.GetPlan(); {
	case plan == nil:
		c.check(decision.GetSkip() != "", "a decision is a plan, or a reason to skip")
	case len(plan.GetSteps()) > 0:
		c.steps(d, plan)
	default:
		c.request(d, plan)
	}
}

// request checks one request.
func (c *validation) request(d *Description, plan *Plan) {
	endpoint := func(e *pb.Endpoint) bool { return e.GetName() == plan.GetEndpoint() }
	c.check(slices.ContainsFunc(d.GetEndpoints(), endpoint), "the plan's endpoint %q is not declared",
		plan.GetEndpoint())
	verbs := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	c.check(slices.Contains(verbs, plan.GetMethod()), "the plan's method %q is none of %v", plan.GetMethod(), verbs)
	c.check(plan.GetUrl() == "" || plan.GetPath() == "", "the plan's path must be empty beside url")
	c.check(plan.GetUrl() != "" || isPlainPath(plan.GetPath()),
		"the plan's path %q must begin with a slash and have no host, query, fragment or '..', "+
			"and its segments must be escaped", plan.GetPath())
	for name, value := range plan.GetHeaders() {
		c.header(name)
		c.check(httpguts.ValidHeaderFieldValue(value),
			"the plan's header %s has a line break or another control character", name)
	}
	for _, h := range plan.GetSecretHeaders() {
		c.header(h.GetHeader())
		named := func(s *pb.Secret) bool { return s.GetName() == h.GetSecret() }
		c.check(slices.ContainsFunc(d.GetSecrets(), named), "the plan's secret %q is not declared", h.GetSecret())
		c.check(httpguts.ValidHeaderFieldValue(h.GetTemplate()),
			"the template of header %s has a line break or another control character", h.GetHeader())
		c.check(strings.Count(h.GetTemplate(), SecretPlaceholder) == 1, "the template of header %s must hold %s once",
			h.GetHeader(), SecretPlaceholder)
	}
	c.planCredentials(d, plan)
	c.success(plan.GetSuccess())
}

// braces are escaped only when a request is sent, because they mark placeholders.
var braces = strings.NewReplacer("{", "%7B", "}", "%7D")

// isPlainPath reports whether a text is an absolute path, escaped, without anything else of a URL.
func isPlainPath(path string) bool {
	path = braces.Replace(path)
	parsed, err := url.Parse(path)
	return err == nil && strings.HasPrefix(path, "/") && parsed.EscapedPath() == path &&
		!slices.Contains(strings.Split(parsed.Path, "/"), "..")
}

// success checks that a success rule is valid.
func (c *validation) success(rule *pb.SuccessRule) {
	for _, status := range slices.Concat(rule.GetStatuses(), rule.GetFinalStatuses()) {
		c.check(status >= 100 && status <= 599, "the plan's success rule names the status %d, which is none", status)
	}
	pointer := rule.GetJsonPointer()
	c.check(pointer == "" ||
		strings.HasPrefix(pointer, "/"), "the plan's success rule has the pointer %q, which must begin with a slash",
		pointer)
	c.check(pointer == "" ||
		json.Valid([]byte(rule.GetJsonEquals())), "the plan's success rule compares with %q, which is no JSON",
		rule.GetJsonEquals())
}

// header checks a header name. It rejects headers that the hub sets.
func (c *validation) header(name string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	c.check(name != "" && strings.Trim(name, letters) == "", "%q is no header name", name)
	taken := []string{"Host", "Content-Length", "Connection", "Transfer-Encoding", "Te", "Trailer", "Upgrade",
		"Keep-Alive"}
	c.check(!slices.Contains(taken, http.CanonicalHeaderKey(name)), "header %s is set by the hub", name)
}
