package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bound is a constraint of a value, with the values or the pattern that it names.
type bound struct {
	text  string
	codes []string
}

// notBlank is the pattern of text that is not only white space.
const notBlank = `\S`

// boundsOf returns the constraints of a schema. items is the resolved schema of its elements, or nil.
func boundsOf(s, items *schema) []bound {
	var list []bound
	add := func(text string, codes ...string) {
		if text != "" {
			list = append(list, bound{text, codes})
		}
	}
	add(rangeText(s.MinLength, s.MaxLength, "characters"))
	add(numberRange(s))
	add(rangeText(s.MinItems, s.MaxItems, "elements"))
	add(rangeText(nil, s.MaxProperties, "entries"))
	switch {
	case s.Pattern == notBlank:
		add("not blank")
	case s.Pattern != "" && s.Format == "":
		add("matches", s.Pattern)
	}
	if words := formats[s.Format]; words != "" {
		add(words)
	}
	if len(s.Enum) > 0 {
		add("one of", distinctText(s.Enum)...)
	}
	if len(s.Const) > 0 {
		add("always", plainValue(s.Const))
	}
	if len(s.Default) > 0 {
		add("default", plainValue(s.Default))
	}
	if items != nil && len(items.Properties) == 0 {
		for _, each := range boundsOf(items, nil) {
			add("each "+each.text, each.codes...)
		}
	}
	return list
}

// formats describes formats that say more than the type.
var formats = map[string]string{"uri": "an address", "email": "an e-mail address", "uuid": "a UUID"}

// rangeText describes a range of a count.
func rangeText(least, most *int, of string) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%d to %d %s", *least, *most, of)
	case most != nil:
		return fmt.Sprintf("at most %d %s", *most, of)
	case least != nil && *least == 1:
		return "not empty"
	case least != nil:
		return fmt.Sprintf("at least %d %s", *least, of)
	}
	return ""
}

func numberRange(s *schema) string {
	least, most, below := string(s.Minimum), string(s.Maximum), string(s.ExclusiveMaximum)
	switch {
	case least != "" && most != "":
		return least + " to " + most
	case least != "" && below != "":
		return least + " or more, below " + below
	case least != "":
		return least + " or more"
	case most != "":
		return "at most " + most
	}
	return ""
}

// distinctText returns the values as text, without null and duplicates.
func distinctText(values []jsontext.Value) []string {
	var list []string
	for _, value := range values {
		if text := plainValue(value); value.Kind() != 'n' && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// plainValue returns a JSON value as text, a string without quotes.
func plainValue(value jsontext.Value) string {
	var text string
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(value))
}
