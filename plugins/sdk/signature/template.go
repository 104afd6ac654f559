package signature

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Template is the text that a signature covers.
type Template []Part

// Part is a literal text or a part of a request.
type Part struct {
	Source Source
	Text   string // of Literal: the text; of Parameter and Header: the name
}

// Source is where a Part is in a request.
type Source string

// The sources of parts.
const (
	Literal   Source = "literal"
	Method    Source = "method"
	Path      Source = "path"      // as sent, escaped
	Query     Source = "query"     // as sent, without the question mark
	Parameter Source = "parameter" // the decoded value of one query parameter
	Header    Source = "header"    // the value of one header
	Timestamp Source = "timestamp" // as sent
	Nonce     Source = "nonce"
	Body      Source = "body" // as sent
)

// maxTemplate bounds the length of a template in bytes.
const maxTemplate = 1024

// sources are the sources whose placeholder is their name.
var sources = []Source{Method, Path, Query, Timestamp, Nonce, Body}

// Parse parses a template such as "{timestamp}.{body}". Its placeholders are {method}, {path}, {query}, {timestamp},
// {nonce}, {body}, {query.NAME} and {header.NAME}. A brace is written twice.
func Parse(text string) (t Template, err error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("must be at most %d bytes", maxTemplate)
	}
	var literal strings.Builder
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return nil, fmt.Errorf("has a } without {: write }} for a brace")
		case rest[0] == '{':
			name, after, closed := strings.Cut(rest[1:], "}")
			part, known := placeholder(name)
			if !closed || !known {
				return nil, fmt.Errorf("has {%.40s, which is no placeholder: write {{ for a brace", rest[1:])
			}
			t, rest = append(t.withLiteral(&literal), part), after
		default:
			literal.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return t.withLiteral(&literal), nil
}

// withLiteral appends a literal unless it is empty, and empties it.
func (t Template) withLiteral(literal *strings.Builder) Template {
	if literal.Len() > 0 {
		t = append(t, Part{Literal, literal.String()})
		literal.Reset()
	}
	return t
}

func placeholder(name string) (part Part, known bool) {
	if header, found := strings.CutPrefix(name, "header."); found {
		return Part{Header, header}, httpguts.ValidHeaderFieldName(header)
	}
	if parameter, found := strings.CutPrefix(name, "query."); found {
		return Part{Parameter, parameter}, parameter != "" && !strings.Contains(parameter, "{")
	}
	return Part{Source: Source(name)}, slices.Contains(sources, Source(name))
}

// Uses reports whether the template has a part from a source.
func (t Template) Uses(source Source) bool {
	return slices.ContainsFunc(t, func(p Part) bool { return p.Source == source })
}

// Request is what a template can refer to.
type Request struct {
	Method     string
	Path       string // escaped, as sent
	Query      string // without the question mark, as sent
	Parameters map[string]string
	Headers    map[string]string // by name in lower case
	Timestamp  string
	Nonce      string
	Body       []byte
}

// of returns a part of a request.
func (p Part) of(r Request) []byte {
	switch p.Source {
	case Method:
		return []byte(r.Method)
	case Path:
		return []byte(r.Path)
	case Query:
		return []byte(r.Query)
	case Parameter:
		return []byte(r.Parameters[p.Text])
	case Header:
		return []byte(r.Headers[strings.ToLower(p.Text)])
	case Timestamp:
		return []byte(r.Timestamp)
	case Nonce:
		return []byte(r.Nonce)
	case Body:
		return r.Body
	}
	return []byte(p.Text)
}

// writeTo writes the text to sign.
func (t Template) writeTo(w io.Writer, r Request) {
	for _, p := range t {
		_, _ = w.Write(p.of(r)) // a hash never fails
	}
}
