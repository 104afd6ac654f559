package aggregator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// SettingsProblem is a problem of a platform's settings with a version of a plugin.
type SettingsProblem struct {
	Business core.BusinessID `json:"business"`
	Platform string          `json:"platform"`
	Field    string          `json:"field"` // "" is the settings as a whole
	Message  string          `json:"message"`
}

// String describes the problem for people.
func (p SettingsProblem) String() string {
	return fmt.Sprintf("platform %q of business %d: %s %s", p.Platform, p.Business,
		strings.TrimSuffix("settings."+p.Field, "."), p.Message)
}

// FilledSettings are settings of a platform with added defaults.
type FilledSettings struct {
	Business core.BusinessID `json:"business"`
	Platform string          `json:"platform"`
	Fields   []string        `json:"fields"`

	Before []byte `json:"-"`
	After  []byte `json:"-"`
}

// SettingsFit states which platforms' settings fit a version of a plugin.
type SettingsFit struct {
	Problems []SettingsProblem
	Filled   []FilledSettings // the platforms that lacked settings with a default
}

// SettingsDefaults are values for settings that platforms lack, by name.
type SettingsDefaults map[string]json.RawMessage

// ParseSettingsDefaults reads defaults of the form FIELD=VALUE, which must be valid by the schema of a plugin. A value
// is JSON if the schema allows that, and otherwise text. Secrets cannot have defaults.
func ParseSettingsDefaults(about *sdk.Description, list []string) (SettingsDefaults, error) {
	defaults := SettingsDefaults{}
	var schema struct {
		Properties map[string]struct {
			WriteOnly bool `json:"writeOnly"`
		} `json:"properties"`
	}
	if len(about.GetSettingsSchema()) > 0 {
		if err := json.Unmarshal(about.GetSettingsSchema(), &schema); err != nil {
			return nil, fmt.Errorf("reading the settings schema: %w", err)
		}
	}
	for _, entry := range list {
		field, text, found := strings.Cut(entry, "=")
		property, known := schema.Properties[field]
		switch {
		case !found || field == "":
			return nil, core.Errorf(core.Invalid, "the default %q must have the form FIELD=VALUE", entry)
		case property.WriteOnly || isSecret(about, field):
			return nil, core.Errorf(core.Invalid, "%s is a secret, which other users could read on the command line: "+
				"set it for each business with `servery platform set --business ID PLATFORM --secret %s=@FILE`",
				field, field)
		case !known:
			return nil, core.Errorf(core.Invalid, "%s is no setting of plugin %s, only: %s", field, about.GetId(),
				strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
		case defaults[field] != nil:
			return nil, core.Errorf(core.Invalid, "%s has two defaults", field)
		}
		value, err := defaultValue(about.GetSettingsSchema(), field, text)
		if err != nil {
			return nil, err
		}
		defaults[field] = value
	}
	return defaults, nil
}

func isSecret(about *sdk.Description, name string) bool {
	return slices.ContainsFunc(about.GetSecrets(), func(s *pb.Secret) bool { return s.GetName() == name })
}

// defaultValue returns the value of a setting that is valid by the schema: JSON, or otherwise text.
func defaultValue(schema []byte, field, text string) (json.RawMessage, error) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	candidates := []json.RawMessage{quoted}
	if json.Valid([]byte(text)) {
		candidates = []json.RawMessage{json.RawMessage(text), quoted}
	}
	problem := ""
	for _, value := range candidates {
		settings, err := json.Marshal(SettingsDefaults{field: value})
		if err != nil {
			return nil, err
		}
		found := problemAt(schema, settings, field)
		if found == "" {
			return value, nil
		}
		problem = cmp.Or(problem, found)
	}
	return nil, core.Errorf(core.Invalid, "the default of %s %s", field, problem)
}

// problemAt describes the first problem of a setting or its members, or returns "".
func problemAt(schema, settings []byte, field string) string {
	for _, p := range schemaProblems(schema, settings) {
		if p.Path == field {
			return p.Message
		}
		if within, ok := strings.CutPrefix(p.Path, field); ok && strings.ContainsAny(within[:1], ".[") {
			return "at " + within + " " + p.Message
		}
	}
	return ""
}

// schemaProblems returns the problems of settings by a schema, with the name of each setting.
func schemaProblems(schema, settings []byte) []sdk.ParameterProblem {
	if len(schema) == 0 {
		return nil
	}
	problems, _ := sdk.CheckParameters(schema, settings) // the plugin has checked them too
	for i, p := range problems {
		if p.Rule == "unknown" {
			problems[i].Message = "is not a setting of this version"
		}
	}
	return problems
}

// Fill adds the defaults to settings that lack them, and returns their names. It does not change settings that are no
// object.
func (d SettingsDefaults) Fill(settings []byte) (filled []byte, fields []string, err error) {
	members := map[string]json.RawMessage{}
	if len(settings) > 0 && json.Unmarshal(settings, &members) != nil || members == nil {
		return settings, nil, nil
	}
	for field, value := range d {
		if _, found := members[field]; !found {
			members[field], fields = value, append(fields, field)
		}
	}
	if len(fields) == 0 {
		return settings, nil, nil
	}
	slices.Sort(fields)
	filled, err = json.Marshal(members)
	return filled, fields, err
}

// FitSettings checks the settings of platforms with a version of a plugin, after adding the defaults. The plugin
// checks those of each platform, because its rules may depend on the business. A failed check is a problem of its
// platform.
func FitSettings(ctx context.Context, plugin pluginhost.Plugin, bound []Binding,
	defaults SettingsDefaults) (fit SettingsFit, err error) {
	schema := plugin.Description().GetSettingsSchema()
	for _, b := range bound {
		filled, fields, err := defaults.Fill(b.Settings)
		if err != nil {
			return fit, err
		}
		if len(fields) > 0 {
			fit.Filled = append(fit.Filled, FilledSettings{Business: b.Business, Platform: b.Platform, Fields: fields,
				Before: b.Settings, After: filled})
		}
		problems, err := plugin.CheckSettings(ctx, pluginhost.Subject{Business: b.Business, Platform: b.Platform,
			Settings: filled, Currency: b.Currency})
		rejected := core.CodeOf(err) == core.Invalid
		failed := pluginhost.IsCallFailure(err) && ctx.Err() == nil
		switch {
		case err != nil && !rejected && !failed:
			return fit, err
		case err == nil && len(problems) == 0:
			continue
		}
		found := schemaProblems(schema, filled)
		if len(found) == 0 && rejected {
			found = []sdk.ParameterProblem{{Message: "are rejected: " + publicMessage(err)}}
		}
		if len(found) == 0 && failed {
			found = []sdk.ParameterProblem{{Message: "could not be checked: " + publicMessage(err)}}
		}
		if len(found) == 0 {
			for _, p := range problems {
				found = append(found, sdk.ParameterProblem{Path: p.GetPath(), Message: p.GetMessage()})
			}
		}
		for _, p := range found {
			fit.Problems = append(fit.Problems, SettingsProblem{b.Business, b.Platform, p.Path, p.Message})
		}
	}
	return fit, nil
}

func publicMessage(err error) string {
	var known *core.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// SettingsErrors describes the problems of platforms' settings with a plugin.
func SettingsErrors(ctx context.Context, plugin pluginhost.Plugin, bound []Binding) ([]string, error) {
	fit, err := FitSettings(ctx, plugin, bound, nil)
	return fit.texts(), err
}

func (f SettingsFit) texts() (list []string) {
	for _, p := range f.Problems {
		list = append(list, p.String())
	}
	return list
}

// Platforms returns the number of platforms with problems.
func (f SettingsFit) Platforms() int {
	type platform struct {
		business core.BusinessID
		name     string
	}
	platforms := map[platform]bool{}
	for _, p := range f.Problems {
		platforms[platform{p.Business, p.Platform}] = true
	}
	return len(platforms)
}
