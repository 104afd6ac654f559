package webhook

import (
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

// Masker hides secrets in texts, in any form in which a server may repeat them. It has only the start of each form: the
// rest is made for a text that contains the start.
type Masker []maskedSecret

type maskedSecret struct {
	text   string
	starts []string // the first bytes of its forms
}

// NewMasker returns a Masker for secrets. It ignores short ones, which would match unrelated text.
func NewMasker(secrets ...string) Masker {
	m := make(Masker, 0, len(secrets))
	for _, secret := range secrets {
		if len(secret) < shortestSecret {
			continue
		}
		starts := encodedForms(secret[:shortestSecret]) // every byte is encoded for itself
		for i, start := range starts {
			starts[i] = start[:shortestSecret]
		}
		m = append(m, maskedSecret{secret, distinct(starts)})
	}
	return m
}

// headerMasker returns a Masker for the header values and the credentials in them.
func headerMasker(headers map[string]string) Masker {
	secrets := make([]string, 0, 3*len(headers))
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Accept" { // not a secret, and often equal to the response's content type
			continue
		}
		secrets = appendCredentials(secrets, value)
	}
	return NewMasker(secrets...)
}

// Apply masks a text.
func (m Masker) Apply(text string) string { return m.apply(text, false) }

// apply masks a text. If it was cut off, the secret at its end may not be whole.
func (m Masker) apply(text string, cut bool) string {
	if cut {
		return masked(text, m.find(text, len(text)))
	}
	return masked(text, m.find(text))
}

// applyTo masks values. Some may be cut off. It searches all at once, because there may be thousands.
func (m Masker) applyTo(values map[string]string, isCut func(name string) bool) {
	if len(m) == 0 {
		return
	}
	names := make([]string, 0, len(values))
	var all strings.Builder
	var cuts []int
	for name, value := range values {
		names = append(names, name)
		if all.WriteString(value); isCut(name) {
			cuts = append(cuts, all.Len())
		}
		all.WriteByte('\n')
	}
	hidden := m.find(all.String(), cuts...)
	if hidden == nil {
		return
	}
	for _, name := range names {
		value := values[name]
		values[name] = masked(value, hidden[:len(value)])
		hidden = hidden[len(value)+1:]
	}
}

// find returns which bytes of a text are to be masked, or nil if none are. At the positions of cuts, the text lacks a
// part.
func (m Masker) find(text string, cuts ...int) []bool {
	s := search{text: text, cuts: cuts}
	for _, secret := range m {
		if !slices.ContainsFunc(secret.starts, func(start string) bool { return strings.Contains(text, start) }) {
			continue
		}
		most := len(text) + 1 // bytes of a form that matter
		for _, form := range distinct(encodedForms(secret.text[:min(len(secret.text), most)])) {
			s.hide(form[:min(len(form), most)])
		}
	}
	return s.hidden
}

// masked returns a text with each hidden part replaced.
func masked(text string, hidden []bool) string {
	if !slices.Contains(hidden, true) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(Masked)
		}
	}
	return b.String()
}

// search finds forms of secrets in a text.
type search struct {
	text    string
	cuts    []int  // where a part of the text is missing, ascending
	hidden  []bool // the bytes that are found
	shorter []int  // see prepare
}

// hide marks where the text has a form, and where it has the start of the form before a cut. Its time grows with the
// length of the text, whatever repeats in it (the algorithm of Knuth, Morris and Pratt).
func (s *search) hide(form string) {
	start, cuts := form[:shortestSecret], s.cuts
	i := strings.Index(s.text, start)
	if i < 0 || len(form) > len(s.text) && len(cuts) == 0 {
		return
	}
	s.prepare(form)
	matched, done := 0, 0 // bytes of the form before i; end of the last mark
	for ; ; i++ {
		for len(cuts) > 0 && cuts[0] < i {
			cuts = cuts[1:]
		}
		if len(cuts) > 0 && cuts[0] == i && matched >= shortestSecret {
			s.mark(max(done, i-matched), i)
			done = i
		}
		if matched == 0 {
			next := strings.Index(s.text[i:], start)
			if next < 0 {
				return
			}
			i += next
		}
		if i == len(s.text) {
			return
		}
		for matched > 0 && (matched == len(form) || form[matched] != s.text[i]) {
			matched = s.shorter[matched-1]
		}
		if form[matched] == s.text[i] {
			matched++
		}
		if matched == len(form) {
			s.mark(max(done, i+1-matched), i+1)
			done = i + 1
		}
	}
}

func (s *search) mark(from, to int) {
	if s.hidden == nil {
		s.hidden = make([]bool, len(s.text))
	}
	for i := from; i < to; i++ {
		s.hidden[i] = true
	}
}

// prepare sets for each number of bytes of a form how many of its first bytes are also the last of these.
func (s *search) prepare(form string) {
	s.shorter = append(s.shorter[:0], 0)
	for i, matched := 1, 0; i < len(form); i++ {
		for matched > 0 && form[matched] != form[i] {
			matched = s.shorter[matched-1]
		}
		if form[matched] == form[i] {
			matched++
		}
		s.shorter = append(s.shorter, matched)
	}
}

// distinct returns the texts without repeats, in the same memory.
func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// appendCredentials appends the secrets in a header value: the value itself, what follows its scheme ("Bearer TOKEN"),
// and the password of a name and password.
func appendCredentials(all []string, value string) []string {
	value = strings.Trim(value, " \t")
	all = append(all, value)
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
