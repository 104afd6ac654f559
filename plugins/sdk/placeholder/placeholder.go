// Package placeholder reads the placeholders of plans with steps. The placeholder {create.id} stands for the value id
// of the step create.
package placeholder

import (
	"regexp"
	"strings"
)

var pattern = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}`)

// Value names a value of a step.
type Value struct{ Step, Name string }

// String returns the placeholder of the value.
func (v Value) String() string { return "{" + v.Step + "." + v.Name + "}" }

// Max is the maximum number of placeholders in a step. It bounds the size of a request with long values.
const Max = 200

// Find returns the values of the placeholders in a text, of the first Max+1. Other braces are text.
func Find(text string) (list []Value) {
	for _, found := range pattern.FindAllStringSubmatch(text, Max+1) {
		list = append(list, Value{found[1], found[2]})
	}
	return list
}

// Replace replaces each placeholder in a text by the result of value. It returns the first error of value.
func Replace(text string, value func(Value) (string, error)) (string, error) {
	var out strings.Builder
	rest := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		replacement, err := value(Value{text[at[2]:at[3]], text[at[4]:at[5]]})
		if err != nil {
			return "", err
		}
		out.WriteString(text[rest:at[0]])
		out.WriteString(replacement)
		rest = at[1]
	}
	out.WriteString(text[rest:])
	return out.String(), nil
}
