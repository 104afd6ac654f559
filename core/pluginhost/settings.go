package pluginhost

import (
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// SettingsProblems describes the problems of settings, by the schema in a plugin's description. It does not call the
// plugin, which may reject them for other reasons.
func SettingsProblems(schema, settings []byte) (found []string) {
	problems, _ := sdk.CheckSettings(schema, settings) // a plugin with a broken schema does not start
	for _, p := range problems {
		found = append(found, FormatProblem(p))
	}
	return found
}

// FormatProblem formats a problem of a setting for people.
func FormatProblem(p *sdk.Problem) string {
	return strings.TrimSuffix("settings."+p.GetPath(), ".") + " " + p.GetMessage()
}

// ParameterProblems returns the rules that parameters of an action break, by the schema in a plugin's description.
func ParameterProblems(schema, parameters []byte) (found []core.Violation) {
	problems, err := sdk.CheckParameters(schema, parameters)
	if err != nil { // a plugin with a broken schema does not start
		return []core.Violation{{Path: "parameters", Code: "schema", Message: "cannot be checked: " + err.Error()}}
	}
	for _, p := range problems {
		code, known := parameterCodes[p.Rule]
		if !known {
			code = "schema"
		}
		found = append(found, core.Violation{Path: strings.TrimSuffix("parameters."+p.Path, "."), Code: code,
			Message: p.Message})
	}
	return found
}

// parameterCodes is the stable code of an error by the keyword of a schema.
var parameterCodes = map[string]string{
	"type": "type", "required": "required", "dependentRequired": "required", "unknown": "unknown", "enum": "value",
	"const": "value", "pattern": "format", "format": "format", "minimum": "range", "maximum": "range",
	"exclusiveMinimum": "range", "exclusiveMaximum": "range", "multipleOf": "range", "minLength": "length",
	"maxLength": "length", "minItems": "length", "maxItems": "length", "minProperties": "length",
	"maxProperties": "length",
}
