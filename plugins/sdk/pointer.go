package sdk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// isPointer reports whether a text is a JSON pointer (RFC 6901) to a value within a document.
func isPointer(text string) bool {
	unescaped := strings.NewReplacer("~0", "", "~1", "").Replace(text)
	return strings.HasPrefix(text, "/") && !strings.Contains(unescaped, "~")
}

// stringsAt returns the strings at JSON pointers. Like the hub, it finds none in a body with duplicate names.
func stringsAt(body []byte, pointers []string) map[string]string {
	s := stringSearch{json.NewDecoder(bytes.NewReader(body)), map[string]string{}}
	if !utf8.Valid(body) || !json.Valid(body) || !s.value(pointers, 0) { // a valid body has at most 10,000 levels
		return nil
	}
	return s.found
}

// stringSearch reads a JSON document once, without its values in memory.
type stringSearch struct {
	in    *json.Decoder
	found map[string]string
}

// memberEscapes escapes the name of a member in a JSON pointer.
var memberEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// value reads the next value. The first done bytes of the pointers lead to it. It returns false if an object has two
// members of one name.
func (s stringSearch) value(pointers []string, done int) bool {
	token, err := s.in.Token()
	if text, ok := token.(string); ok {
		for _, pointer := range pointers {
			if len(pointer) == done {
				s.found[pointer] = text
			}
		}
	}
	open, nested := token.(json.Delim)
	if err != nil || !nested {
		return err == nil
	}
	names := map[string]bool{}
	for n := 0; s.in.More(); n++ {
		member := strconv.Itoa(n)
		if open == '{' {
			token, err := s.in.Token()
			name, _ := token.(string)
			if err != nil || names[name] {
				return false
			}
			names[name], member = true, memberEscapes.Replace(name)
		}
		var below []string
		for _, pointer := range pointers {
			rest, ok := strings.CutPrefix(pointer[done:], "/"+member)
			if ok && (rest == "" || rest[0] == '/') {
				below = append(below, pointer)
			}
		}
		if !s.value(below, done+1+len(member)) {
			return false
		}
	}
	_, err = s.in.Token()
	return err == nil
}
