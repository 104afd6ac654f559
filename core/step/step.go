// Package step prepares the requests of plans with several steps. It takes values from responses, and puts them into
// later requests. It sends nothing.
package step

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/plugins/sdk/placeholder"
)

// Take specifies a value of a response.
type Take struct {
	Name, Pointer string // RFC 6901
	MaxLength     int    // in bytes
	Optional      bool
	Secret        bool
}

// Value is a value of a response.
type Value struct {
	Text   string
	Secret bool
}

// Values are the values of the steps so far.
type Values map[placeholder.Value]Value

// shortestSecret is the least length of a secret value in bytes. Records mask no shorter text.
const shortestSecret = 6

// Take adds the values of a step's response. Its error contains nothing of the response.
func (v Values) Take(step string, list []Take, body []byte) error {
	for _, t := range list {
		text, found := Text(body, t.Pointer)
		switch {
		case !found && !t.Optional:
			return fmt.Errorf("the response to the step %q has no text or number at %s", step, t.Pointer)
		case len(text) > t.MaxLength:
			return fmt.Errorf("the response to the step %q has more than %d bytes at %s", step, t.MaxLength, t.Pointer)
		case found && t.Secret && len(text) < shortestSecret:
			return fmt.Errorf("the response to the step %q has a secret with less than %d bytes at %s", step,
				shortestSecret, t.Pointer)
		}
		v[placeholder.Value{Step: step, Name: t.Name}] = Value{text, t.Secret && found}
	}
	return nil
}

// Get returns a value of a step, or the zero Value.
func (v Values) Get(step, name string) Value { return v[placeholder.Value{Step: step, Name: name}] }

// Set adds a value of a step.
func (v Values) Set(step, name string, value Value) {
	v[placeholder.Value{Step: step, Name: name}] = value
}

// Secrets returns the secret values.
func (v Values) Secrets() (list []string) {
	for _, value := range v {
		if value.Secret {
			list = append(list, value.Text)
		}
	}
	return list
}

// HasSecret reports whether a text has a placeholder for a secret value.
func (v Values) HasSecret(text string) bool {
	for _, name := range placeholder.Find(text) {
		if v[name].Secret {
			return true
		}
	}
	return false
}

// fill replaces the placeholders of a text. It passes each value through escape.
func (v Values) fill(text string, escape func(placeholder.Value, string) (string, error)) (string, error) {
	return placeholder.Replace(text, func(name placeholder.Value) (string, error) {
		value, found := v[name]
		if !found {
			return "", fmt.Errorf("no earlier step has the value %s", name)
		}
		return escape(name, value.Text)
	})
}

// Text returns the string, number or boolean at a JSON pointer, a number with its digits as sent. It returns false for
// anything else, and if the body is not valid JSON.
func Text(body []byte, pointer string) (string, bool) {
	value, found := valueAt(body, pointer)
	if !found {
		return "", false
	}
	switch value.Kind() {
	case '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

func valueAt(body []byte, pointer string) (jsontext.Value, bool) {
	value := jsontext.Value(body)
	if !value.IsValid() || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch value.Kind() {
		case '{':
			var members map[string]jsontext.Value
			if json.Unmarshal(value, &members) != nil || members[token] == nil {
				return nil, false
			}
			value = members[token]
		case '[':
			var list []jsontext.Value
			n, ok := index(token)
			if json.Unmarshal(value, &list) != nil || !ok || n >= len(list) {
				return nil, false
			}
			value = list[n]
		default:
			return nil, false
		}
	}
	return value, true
}

// index parses an array index (RFC 6901, 4): digits without a leading zero.
func index(token string) (n int, ok bool) {
	if token == "" || len(token) > 9 || len(token) > 1 && token[0] == '0' {
		return 0, false
	}
	for _, digit := range []byte(token) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + int(digit-'0')
	}
	return n, true
}
