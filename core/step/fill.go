package step

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/plugins/sdk/placeholder"
)

// Path returns a path with the placeholders replaced. A value stays within its segment.
func (v Values) Path(path string) (string, error) {
	filled, err := v.fill(path, func(name placeholder.Value, value string) (string, error) {
		if !isSegment(value) {
			return "", fmt.Errorf("the value %s cannot be a part of a path", name)
		}
		return url.PathEscape(value), nil
	})
	if err != nil {
		return "", err
	}
	templates := strings.Split(path, "/") // a value has no slash, so that the segments correspond
	for i, segment := range strings.Split(filled, "/") {
		plain, err := url.PathUnescape(segment)
		hasValue := len(placeholder.Find(templates[i])) > 0
		if err != nil || isDots(plain) || hasValue && !isSegment(plain) {
			return "", errors.New("the path has a segment that a server may read as another path")
		}
	}
	return filled, nil
}

// maxEncodings bounds how often a value is decoded to look for a path in it.
const maxEncodings = 8

// percentEncoded matches an encoded byte. Some servers decode those, and leave invalid encodings as they are.
var percentEncoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// isSegment reports whether a value is one segment of a path, also for servers that decode it several times.
func isSegment(value string) bool {
	for range maxEncodings {
		if value == "" || isDots(value) || strings.ContainsAny(value, `/\`) || hasControl(value) {
			return false
		}
		plain := percentEncoded.ReplaceAllStringFunc(value, func(code string) string {
			decoded, _ := hex.DecodeString(code[1:])
			return string(decoded)
		})
		if plain == value {
			return true
		}
		value = plain
	}
	return false
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

// Text returns a text with the placeholders replaced by the values as they are. It is for parts, and for texts that are
// escaped later, such as those of a query.
func (v Values) Text(text string) (string, error) {
	return v.fill(text, func(_ placeholder.Value, value string) (string, error) { return value, nil })
}

// Header returns a header value with the placeholders replaced. A value must be valid in a header.
func (v Values) Header(text string) (string, error) {
	return v.fill(text, func(name placeholder.Value, value string) (string, error) {
		if !httpguts.ValidHeaderFieldValue(value) {
			return "", fmt.Errorf("the value %s has a character that is not allowed in a header", name)
		}
		return value, nil
	})
}

// URL returns the URL that a placeholder stands for: http or https, with a host, without user and fragment.
func (v Values) URL(text string) (*url.URL, error) {
	filled, err := v.Text(text)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(filled)
	if err != nil || target.Host == "" || target.User != nil || target.Fragment != "" ||
		target.Scheme != "http" && target.Scheme != "https" || hasControl(filled) {
		return nil, fmt.Errorf("the value %s is not an http or https URL", text)
	}
	return target, nil
}

// JSON returns a JSON text with the placeholders replaced in the strings at some pointers. Everything else stays as it
// is.
func (v Values) JSON(body []byte, pointers []string) ([]byte, error) {
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(body))
	copied := 0
	seen := make([]bool, len(pointers))
	for {
		quoted, err := nextString(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New("the body is not valid JSON")
		}
		n := slices.Index(pointers, string(in.StackPointer()))
		if n < 0 || quoted == nil || isName(in) {
			continue
		}
		seen[n] = true
		plain, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return nil, errors.New("the body is not valid JSON")
		}
		text, err := v.Text(string(plain))
		if err != nil {
			return nil, err
		}
		end := int(in.InputOffset())
		out.Write(body[copied : end-len(quoted)])
		if quoted, err = jsontext.AppendQuote(nil, text); err != nil {
			return nil, errors.New("a value is not valid UTF-8")
		}
		out.Write(quoted)
		copied = end
	}
	if n := slices.Index(seen, false); n >= 0 {
		return nil, fmt.Errorf("the body has no string at %s", pointers[n])
	}
	out.Write(body[copied:])
	return out.Bytes(), nil
}

// nextString reads the next token. It returns the token if that is a string, and otherwise nil.
func nextString(in *jsontext.Decoder) ([]byte, error) {
	if in.PeekKind() == '"' {
		return in.ReadValue()
	}
	_, err := in.ReadToken()
	return nil, err
}

// isName reports whether the last token was the name of a member.
func isName(in *jsontext.Decoder) bool {
	kind, length := in.StackIndex(in.StackDepth())
	return kind == '{' && length%2 == 1
}
