package webhook

import (
	"cmp"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// mask stands for a secret in records.
const mask = "••••••"

// shortestSecret, in bytes, is what is looked for in answers: anything shorter
// would be found where it is not meant.
const shortestSecret = 6

// shown is the request's headers for the record, custom values masked.
func shown(h http.Header, custom map[string]string) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		if len(values) > 0 {
			m[name] = values[0]
		}
	}
	for name := range custom {
		m[http.CanonicalHeaderKey(name)] = mask
	}
	return m
}

// masker hides secrets in what an endpoint answers, since some repeat the request:
// all that is not to be seen, the longest first.
type masker []string

// newMasker hides the values of the headers, and the credentials in them.
func newMasker(headers map[string]string) (m masker) {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Accept" { // no secret, and the type of the answer is often just that
			continue
		}
		for _, secret := range credentials(value) {
			if len(secret) >= shortestSecret {
				m = append(m, forms(secret)...)
			}
		}
	}
	slices.SortFunc(m, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(m)
}

func (m masker) in(s string) string {
	for _, secret := range m {
		s = strings.ReplaceAll(s, secret, mask)
	}
	return s
}

// longest is how many bytes of an answer a secret takes at most.
func (m masker) longest() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// credentials are a header's value as it arrives, what follows its scheme ("Bearer
// TOKEN"), and of a name and a password the password.
func credentials(value string) []string {
	value = strings.Trim(value, " \t")
	all := []string{value}
	scheme, rest, found := strings.Cut(value, " ")
	if !found {
		return all
	}
	rest = strings.TrimLeft(rest, " \t")
	all = append(all, rest)
	if plain, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "Basic") {
		rest = string(plain)
		all = append(all, rest)
	}
	if _, password, found := strings.Cut(rest, ":"); found {
		all = append(all, password)
	}
	return all
}

// quotings are the ways in which JSON has a string: the shortest, PHP's and Go's.
var quotings = []*strings.Replacer{
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`),
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "/", `\/`),
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "<", `\u003c`, ">", `\u003e`, "&", `\u0026`),
}

// forms are a secret as it is and as JSON, HTML and forms have it.
func forms(secret string) []string {
	all := []string{secret, html.EscapeString(secret), url.QueryEscape(secret)}
	for _, quoting := range quotings {
		all = append(all, quoting.Replace(secret))
	}
	return all
}
