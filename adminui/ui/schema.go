package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SchemaField is a property of an object in a JSON Schema: a setting of a platform, or a parameter of an action.
type SchemaField struct {
	Name, Description string
	Type              any // a name, or several
	Allowed           []jsontext.Value
	Minimum, Maximum  jsontext.Value
	Required          bool
}

// SchemaFields returns the properties of a schema, sorted by name. A schema without properties has none. It skips a
// property whose schema is not an object, such as true.
func SchemaFields(schema []byte) (fields []SchemaField) {
	var object struct {
		Properties map[string]jsontext.Value `json:"properties"`
		Required   []string                  `json:"required"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &object) != nil {
		return nil
	}
	for name, property := range object.Properties {
		var p struct {
			Type        any              `json:"type"`
			Enum        []jsontext.Value `json:"enum"`
			Minimum     jsontext.Value   `json:"minimum"`
			Maximum     jsontext.Value   `json:"maximum"`
			Description string           `json:"description"`
		}
		if property.Kind() != '{' || json.Unmarshal(property, &p) != nil {
			continue
		}
		fields = append(fields, SchemaField{Name: name, Description: p.Description, Type: p.Type, Allowed: p.Enum,
			Minimum: p.Minimum, Maximum: p.Maximum, Required: slices.Contains(object.Required, name)})
	}
	slices.SortFunc(fields, func(a, b SchemaField) int { return cmp.Compare(a.Name, b.Name) })
	return fields
}

// Rule returns the type or the allowed values of a field, with its description.
func (f SchemaField) Rule() string { return strings.Trim(f.allowed()+": "+f.Description, ": ") }

// Bounds returns what Rule returns, with the minimum and maximum of a number.
func (f SchemaField) Bounds() string {
	if f.Allowed != nil {
		return f.Rule()
	}
	return strings.Trim(f.hint()+": "+f.Description, ": ")
}

func (f SchemaField) allowed() string {
	if f.Allowed == nil && f.Type == nil {
		return ""
	}
	if f.Allowed == nil {
		return fmt.Sprint(f.Type)
	}
	words := make([]string, len(f.Allowed))
	for i, value := range f.Allowed {
		words[i] = plainText(value)
	}
	return strings.Join(words, ", ")
}

// plainText returns a JSON value as a form shows it: a string without its quotes.
func plainText(value jsontext.Value) string {
	if value.Kind() != '"' {
		return string(value)
	}
	text, _ := jsontext.AppendUnquote(nil, value) // of a valid schema
	return string(text)
}

// fieldPrefix begins the names of fields of a schema in a form.
const fieldPrefix = "parameter-"

// Input returns the form field of a schema's field.
func (f SchemaField) Input() Filter {
	input := Filter{Name: fieldPrefix + f.Name, Label: f.Name, Hint: f.hint()}
	if f.Description != "" {
		input.Label += ": " + f.Description
	}
	switch {
	case f.Allowed != nil:
		for _, value := range f.Allowed {
			input.Options = append(input.Options, Option{Value: plainText(value), Label: plainText(value)})
		}
	case f.is("boolean"):
		input.Options = []Option{{Value: "true", Label: "true"}, {Value: "false", Label: "false"}}
	}
	if input.Options != nil && !f.Required {
		input.Options = slices.Insert(input.Options, 0, Option{Label: "–"})
	}
	return input
}

// hint returns the type of a field, with its bounds.
func (f SchemaField) hint() string {
	hint := fmt.Sprint(cmp.Or[any](f.Type, "JSON"))
	if f.Minimum != nil || f.Maximum != nil {
		hint += fmt.Sprintf(", %s … %s", f.Minimum, f.Maximum)
	}
	return hint
}

// is reports whether a field has one type.
func (f SchemaField) is(name string) bool { return f.Type == name }

// value returns what was entered as JSON, or nil if the field was left empty. A text that does not fit the type of
// the field stays a text, which the check of the schema explains.
func (f SchemaField) value(entered string) jsontext.Value {
	if entered == "" {
		return nil
	}
	for _, value := range f.Allowed {
		if plainText(value) == entered {
			return value
		}
	}
	raw := jsontext.Value(strings.TrimSpace(entered))
	if raw.IsValid() && f.admits(raw) {
		return raw
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(entered, "\uFFFD"))
	return quoted
}

// typeOf is the type of a schema that admits each JSON value of a kind.
var typeOf = map[jsontext.Kind]string{'n': "null", 't': "boolean", 'f': "boolean", '0': "number", '{': "object",
	'[': "array"}

// admits reports whether a JSON value is meant as such, not as a text. A field that can be a text has one unless
// another of its types admits the value.
func (f SchemaField) admits(value jsontext.Value) bool {
	types, several := f.Type.([]any)
	if !several || !slices.Contains(types, any("string")) {
		return !f.is("string")
	}
	if number, err := strconv.ParseFloat(string(value), 64); err == nil && number == math.Trunc(number) &&
		slices.Contains(types, any("integer")) {
		return true
	}
	return slices.Contains(types, any(typeOf[value.Kind()]))
}

// SchemaObject returns the JSON object that was entered in the form fields of a schema.
func SchemaObject(schema []byte, value func(name string) string) jsontext.Value {
	members := map[string]jsontext.Value{}
	for _, field := range SchemaFields(schema) {
		if entered := field.value(value(fieldPrefix + field.Name)); entered != nil {
			members[field.Name] = entered
		}
	}
	object, _ := json.Marshal(members, json.Deterministic(true)) // of valid values
	return object
}
