package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemaChecker checks JSON objects against a JSON Schema of a description.
type schemaChecker struct{ schema *jsonschema.Schema } // nil: any object

// newSchemaChecker compiles the schema of a field. It returns an error if the schema is invalid, refers to another
// document, or rejects one of its examples.
func newSchemaChecker(field string, schema []byte) (schemaChecker, error) {
	if len(schema) == 0 {
		return schemaChecker{}, nil
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return schemaChecker{}, fmt.Errorf("%s: %w", field, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // no files
	const name = "urn:servery:schema"
	if err := compiler.AddResource(name, parsed); err != nil {
		return schemaChecker{}, fmt.Errorf("%s: %w", field, err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return schemaChecker{}, fmt.Errorf("%s: %w", field, schemaError(err))
	}
	if !(complexities{}).of(compiled).allowed() {
		return schemaChecker{}, fmt.Errorf("%s: is too complex: more than %d parts apply to one value, or it refers "+
			"to itself in two places", field, maxComplexity)
	}
	checker := schemaChecker{compiled}
	for i, example := range compiled.Examples {
		if failures := checker.failures(example); len(failures) > 0 {
			return schemaChecker{}, fmt.Errorf("%s: examples[%d]: %s %s", field, i,
				strings.Join(failures[0].InstanceLocation, "."), schemaRule(failures[0]))
		}
	}
	return checker, nil
}

// maxSchemaCauses bounds the causes in the error of an invalid schema.
const maxSchemaCauses = 5

// schemaError returns why a schema does not compile. The library's error repeats the path of an invalid schema for each
// cause.
func schemaError(err error) error {
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &broken) || !errors.As(broken.Err, &invalid) {
		return err
	}
	var causes []*jsonschema.ValidationError
	collectCauses(invalid, &causes)
	var texts []string
	for _, cause := range causes[:min(len(causes), maxSchemaCauses)] {
		texts = append(texts, strings.Join(cause.InstanceLocation, ".")+" "+schemaRule(cause))
	}
	return errors.New(strings.Join(texts, "; "))
}

// decodeObject decodes an object. Empty text counts as an empty object. It returns what is wrong with the text, or "".
func decodeObject(object []byte) (members map[string]any, wrong string) {
	if len(object) == 0 {
		object = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(object))
	members, isObject := value.(map[string]any)
	switch {
	case err != nil || !isObject:
		return nil, "must be a JSON object"
	case !numbersFit(members):
		return nil, "must have no numbers beyond 64-bit floating point"
	}
	return members, ""
}

// numbersFit reports whether all numbers of a value are in the range of float64. Exact arithmetic with huge exponents
// would take long.
func numbersFit(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if !numbersFit(member) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(element any) bool { return !numbersFit(element) })
	case json.Number:
		number, err := value.Float64()
		mantissa, _, _ := strings.Cut(strings.ToLower(value.String()), "e")
		return err == nil && (number != 0 || !strings.ContainsAny(mantissa, "123456789"))
	}
	return true
}

// failures returns the innermost causes for which a value is invalid. They are specific.
func (s schemaChecker) failures(value any) (list []*jsonschema.ValidationError) {
	if s.schema == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(s.schema.Validate(value), &invalid) {
		collectCauses(invalid, &list)
	}
	return list
}

func collectCauses(e *jsonschema.ValidationError, list *[]*jsonschema.ValidationError) {
	if len(e.Causes) == 0 {
		*list = append(*list, e)
	}
	for _, cause := range e.Causes {
		collectCauses(cause, list)
	}
}

// schemaRule returns the rule that a value breaks, in the words of the schema library.
func schemaRule(e *jsonschema.ValidationError) string {
	return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

const parametersField = "parameters_schema"

// ParameterProblem is a rule of a schema that parameters of an action break.
type ParameterProblem struct {
	Path    string // such as items[2].count; "" is the whole object
	Rule    string // the keyword of the schema, such as maximum
	Message string // continues the path, and says what was sent
}

// MaxParametersSchema is the maximum size of the parameters_schema of an action, in bytes.
const MaxParametersSchema = 64 << 10

// CheckParameters checks the parameters of an action against its parameters_schema. Empty parameters count as an
// empty object. Without a schema, the action has no parameters.
func CheckParameters(schema, parameters []byte) ([]ParameterProblem, error) {
	checker, err := newSchemaChecker(parametersField, schema)
	if err != nil {
		return nil, err
	}
	return checker.checkParameters(parameters), nil
}

func (s schemaChecker) checkParameters(parameters []byte) (list []ParameterProblem) {
	members, wrong := decodeObject(parameters)
	switch {
	case wrong != "":
		return []ParameterProblem{{Rule: "type", Message: wrong}}
	case s.schema == nil && len(members) > 0:
		return []ParameterProblem{{Rule: "unknown", Message: "must be empty: the action has none"}}
	}
	for _, failure := range s.failures(members) {
		path, sent := locate(members, failure.InstanceLocation)
		list = append(list, describeFailure(failure, path, sent)...)
	}
	return list
}

// locate returns the path and the value of a location.
func locate(value any, location []string) (path string, sent any) {
	for _, name := range location {
		switch container := value.(type) {
		case []any:
			index, _ := strconv.Atoi(name)
			path, value = fmt.Sprintf("%s[%d]", path, index), container[index]
		case map[string]any:
			path, value = joinPath(path, name), container[name]
		}
	}
	return path, value
}

func joinPath(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// describeFailure describes what is wrong at a path, with the value that was sent there.
func describeFailure(e *jsonschema.ValidationError, path string, sent any) (list []ParameterProblem) {
	keyword := ""
	if keywords := e.ErrorKind.KeywordPath(); len(keywords) > 0 {
		keyword = keywords[0]
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			list = append(list, ParameterProblem{joinPath(path, name), keyword, "is required"})
		}
		return list
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			list = append(list, ParameterProblem{joinPath(path, name), "unknown", "is an unknown parameter"})
		}
		return list
	}
	rule := ruleText(e.ErrorKind)
	if rule == "" {
		return []ParameterProblem{{path, keyword, "breaks the rule " + schemaRule(e)}}
	}
	return []ParameterProblem{{path, keyword, rule + ", not " + describeSent(e.ErrorKind, sent)}}
}

// ruleText returns the rule of a keyword, or "" for the rarer ones.
func ruleText(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		words := make([]string, len(k.Want))
		for i, value := range k.Want {
			words[i] = showValue(value)
		}
		return "must be one of: " + strings.Join(words, ", ")
	case *kind.Const:
		return "must be " + showValue(k.Want)
	case *kind.Minimum:
		return "must be at least " + showNumber(k.Want)
	case *kind.Maximum:
		return "must be at most " + showNumber(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + showNumber(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + showNumber(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must be at least %d characters long", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must be at most %d characters long", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d elements", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d elements", k.Want)
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	}
	return ""
}

// showNumber returns a number of a schema as a decimal.
func showNumber(number *big.Rat) string {
	if number.IsInt() {
		return number.Num().String()
	}
	decimal, _ := number.Float64()
	return strconv.FormatFloat(decimal, 'g', -1, 64)
}

// maxShownValue bounds the part of a sent value that a message shows, in characters.
const maxShownValue = 40

// describeSent describes the value that broke a rule: its length for a rule of lengths, and otherwise the value.
func describeSent(broken jsonschema.ErrorKind, sent any) string {
	switch k := broken.(type) {
	case *kind.MinLength:
		return strconv.Itoa(k.Got)
	case *kind.MaxLength:
		return strconv.Itoa(k.Got)
	case *kind.MinItems:
		return strconv.Itoa(k.Got)
	case *kind.MaxItems:
		return strconv.Itoa(k.Got)
	}
	return showValue(sent)
}

// showValue returns the beginning of a value as JSON, or the type of an object or array.
func showValue(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	default:
		shown, _ := json.Marshal(value) // a scalar of decoded JSON
		if letters := []rune(string(shown)); len(letters) > maxShownValue {
			return string(letters[:maxShownValue]) + "…"
		}
		return string(shown)
	}
}
