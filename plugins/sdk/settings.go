package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// ReadSettings decodes the settings of a call into a struct. They were validated by the schema when they were set.
// Without settings the struct is unchanged.
func ReadSettings(call *Call, into any) error {
	if len(call.GetSettings()) == 0 {
		return nil
	}
	if err := json.Unmarshal(call.GetSettings(), into); err != nil {
		return Refusef("settings of platform %s: %v", call.GetPlatform(), err)
	}
	return nil
}

// CheckSettings validates settings by a description's schema, and returns the problems. Without a schema every object
// is valid. Empty settings count as an empty object.
func CheckSettings(schema, settings []byte) ([]*Problem, error) {
	checker, err := newSettingsChecker(schema)
	return checker.check(settings), err
}

// settingsChecker checks settings against the schema of a description.
type settingsChecker struct{ schema *jsonschema.Schema } // nil: any object

// newSettingsChecker compiles a schema. It returns an error if the schema is invalid or rejects one of its examples.
func newSettingsChecker(schema []byte) (settingsChecker, error) {
	if len(schema) == 0 {
		return settingsChecker{}, nil
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return settingsChecker{}, fmt.Errorf("settings_schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("settings.json", parsed); err != nil {
		return settingsChecker{}, fmt.Errorf("settings_schema: %w", err)
	}
	compiled, err := compiler.Compile("settings.json")
	if err != nil {
		return settingsChecker{}, fmt.Errorf("settings_schema: %w", err)
	}
	checker := settingsChecker{compiled}
	for i, example := range compiled.Examples {
		if problems := checker.checkValue(example); len(problems) > 0 {
			return settingsChecker{},
				fmt.Errorf("settings_schema: examples[%d]: %s %s", i, problems[0].Path, problems[0].Message)
		}
	}
	return checker, nil
}

// check returns the problems of settings. Empty settings count as an empty object.
func (s settingsChecker) check(settings []byte) []*Problem {
	if len(settings) == 0 {
		settings = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(settings))
	if err != nil {
		return []*Problem{{Message: "must be a JSON object"}}
	}
	if _, object := value.(map[string]any); !object {
		return []*Problem{{Message: "must be a JSON object"}}
	}
	return s.checkValue(value)
}

func (s settingsChecker) checkValue(value any) []*Problem {
	if s.schema == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(s.schema.Validate(value), &invalid) {
		return nil
	}
	var problems []*Problem
	collect(invalid, message.NewPrinter(language.English), &problems)
	return problems
}

// collect adds the innermost causes of an error, which are specific.
func collect(e *jsonschema.ValidationError, printer *message.Printer, problems *[]*Problem) {
	if len(e.Causes) == 0 {
		*problems = append(*problems,
			&Problem{Path: strings.Join(e.InstanceLocation, "."), Message: e.ErrorKind.LocalizedString(printer)})
	}
	for _, cause := range e.Causes {
		collect(cause, printer, problems)
	}
}
