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

// Masked replaces a secret in records and pages.
const Masked = "••••••"

// shortestSecret is the least length in bytes of a secret that is masked in responses. A shorter one would match
// unrelated text.
const shortestSecret = 6

// recordedHeaders returns the request's headers for the record, with custom values masked.
func recordedHeaders(h http.Header, custom map[string]string) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		if len(values) > 0 {
			m[name] = values[0]
		}
	}
	for name := range custom {
		m[http.CanonicalHeaderKey(name)] = Masked
	}
	return m
}

// masker hides secrets in responses, because some endpoints repeat the request. It lists the texts to mask, the
// longest first.
type masker []string

// newMasker returns a masker for the header values and the credentials in them.
func newMasker(headers map[string]string) (m masker) {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Accept" { // not a secret, and often equal to the response's content type
			continue
		}
		for _, secret := range credentials(value) {
			if len(secret) >= shortestSecret {
				m = append(m, encodedForms(secret)...)
			}
		}
	}
	return m.sorted()
}

// sorted returns the texts with the longest first, each once.
func (m masker) sorted() masker {
	slices.SortFunc(m, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(m)
}

// Mask replaces secrets in a text, in any form in which a server may repeat them.
func Mask(text string, secrets ...string) string {
	var m masker
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			m = append(m, encodedForms(secret)...)
		}
	}
	return m.sorted().apply(text)
}

func (m masker) apply(s string) string {
	for _, secret := range m {
		s = strings.ReplaceAll(s, secret, Masked)
	}
	return s
}

// applyCut masks a text that was cut off. A secret at its end may not be whole.
func (m masker) applyCut(s string) string {
	s = m.apply(s)
	part := 0 // length of the longest part of a secret at the end
	for _, secret := range m {
		for n := max(part+1, shortestSecret); n < len(secret); n++ {
			if strings.HasSuffix(s, secret[:n]) {
				part = n
			}
		}
	}
	if part == 0 {
		return s
	}
	return s[:len(s)-part] + Masked
}

// longest returns the length in bytes of the longest text to mask.
func (m masker) longest() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// credentials returns the secrets in a header value: the value itself, what follows its scheme ("Bearer TOKEN"), and
// the password of a name and password.
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

// jsonEscapers are the common ways to escape a string in JSON: the shortest, PHP's and Go's.
var jsonEscapers = []*strings.Replacer{
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`),
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "/", `\/`),
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "<", `\u003c`, ">", `\u003e`, "&", `\u0026`),
}

// encodedForms returns a secret as it is and as escaped in JSON, HTML and form data.
func encodedForms(secret string) []string {
	all := []string{secret, html.EscapeString(secret), url.QueryEscape(secret)}
	for _, quoting := range jsonEscapers {
		all = append(all, quoting.Replace(secret))
	}
	return all
}
