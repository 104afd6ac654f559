package sdk_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

const delaySchema = `{
  "type": "object",
  "properties": {
    "minutes": {"type": "integer", "minimum": 1, "maximum": 60},
    "reason": {"enum": ["busy", "rider", null]},
    "share": {"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 2},
    "note": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    "lines": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "object",
      "properties": {"count": {"type": "integer"}}, "required": ["count"], "additionalProperties": false}},
    "mode": {"const": "soft"},
    "step": {"multipleOf": 5}
  },
  "required": ["minutes"],
  "additionalProperties": false,
  "examples": [{"minutes": 5, "reason": "busy"}]
}`

func TestParameterProblemsNamePathRuleAndValue(t *testing.T) {
	for parameters, want := range map[string]sdk.ParameterProblem{
		`{"minutes":5,"reason":null,"share":1,"note":"abc","lines":[{"count":1}],"mode":"soft","step":10}`: {},
		``:                {Path: "minutes", Rule: "required", Message: "is required"},
		`{}`:              {Path: "minutes", Rule: "required", Message: "is required"},
		`[]`:              {Rule: "type", Message: "must be a JSON object"},
		`{`:               {Rule: "type", Message: "must be a JSON object"},
		`{"minutes":0}`:   {Path: "minutes", Rule: "minimum", Message: "must be at least 1, not 0"},
		`{"minutes":99}`:  {Path: "minutes", Rule: "maximum", Message: "must be at most 60, not 99"},
		`{"minutes":1.5}`: {Path: "minutes", Rule: "type", Message: "must be of type integer, not 1.5"},
		`{"minutes":"5"}`: {Path: "minutes", Rule: "type", Message: `must be of type integer, not "5"`},
		`{"minutes":{}}`:  {Path: "minutes", Rule: "type", Message: "must be of type integer, not an object"},
		`{"minutes":5,"reason":"sun"}`: {Path: "reason", Rule: "enum",
			Message: `must be one of: "busy", "rider", null, not "sun"`},
		`{"minutes":5,"reason":"` + strings.Repeat("é", 60) + `"}`: {Path: "reason", Rule: "enum",
			Message: `must be one of: "busy", "rider", null, not "` + strings.Repeat("é", 39) + "…"},
		`{"minutes":5,"share":0.5}`: {Path: "share", Rule: "exclusiveMinimum",
			Message: "must be greater than 0.5, not 0.5"},
		`{"minutes":5,"share":2}`: {Path: "share", Rule: "exclusiveMaximum", Message: "must be less than 2, not 2"},
		`{"minutes":5,"note":"a"}`: {Path: "note", Rule: "minLength",
			Message: "must be at least 2 characters long, not 1"},
		`{"minutes":5,"note":"abcdef"}`: {Path: "note", Rule: "maxLength",
			Message: "must be at most 5 characters long, not 6"},
		`{"minutes":5,"note":"AB"}`: {Path: "note", Rule: "pattern",
			Message: `must match the pattern ^[a-z]+$, not "AB"`},
		`{"minutes":5,"lines":[]}`: {Path: "lines", Rule: "minItems",
			Message: "must have at least 1 elements, not 0"},
		`{"minutes":5,"lines":[{"count":1},{"count":"x"}]}`: {Path: "lines[1].count", Rule: "type",
			Message: `must be of type integer, not "x"`},
		`{"minutes":5,"lines":[{}]}`: {Path: "lines[0].count", Rule: "required", Message: "is required"},
		`{"minutes":5,"lines":[{"count":1,"x":2}]}`: {Path: "lines[0].x", Rule: "unknown",
			Message: "is an unknown parameter"},
		`{"minutes":5,"mode":"hard"}`: {Path: "mode", Rule: "const", Message: `must be "soft", not "hard"`},
		`{"minutes":5,"step":7}`: {Path: "step", Rule: "multipleOf",
			Message: "breaks the rule multipleOf: got 7, want 5"},
		`{"minutes":1e1000001}`:      {Rule: "type", Message: "must have no numbers beyond 64-bit floating point"},
		`{"minutes":[[1e-1000001]]}`: {Rule: "type", Message: "must have no numbers beyond 64-bit floating point"},
	} {
		problems, err := sdk.CheckParameters([]byte(delaySchema), []byte(parameters))
		require.NoError(t, err)
		if want == (sdk.ParameterProblem{}) {
			require.Empty(t, problems, parameters)
			continue
		}
		require.Equal(t, []sdk.ParameterProblem{want}, problems, parameters)
	}
}

func TestActionWithoutSchemaHasNoParameters(t *testing.T) {
	for parameters, wrong := range map[string]bool{"": false, "{}": false, `{"a":1}`: true, "[]": true} {
		problems, err := sdk.CheckParameters(nil, []byte(parameters))
		require.NoError(t, err)
		require.Equal(t, wrong, len(problems) > 0, parameters)
	}
}

func TestInvalidSchemasAreRejectedAtTheStart(t *testing.T) {
	for schema, says := range map[string]string{
		`{`: "parameters_schema", `{"type":"nothing"}`: "parameters_schema",
		`{"type":"object","required":["word"],"examples":[{}]}`: "parameters_schema: examples[0]",
		`{"$ref":"file:///etc/hostname"}`:                       "parameters_schema",
		`{"$ref":"https://example.com/schema.json"}`:            "parameters_schema",
		`{"description":"` + strings.Repeat("a", sdk.MaxParametersSchema) + `"}`: "parameters_schema: must have at " +
			"most 65536 bytes",
	} {
		_, err := sdk.NewServer(offers{schema, nil}, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, `actions[0] (name "delay"): `+says, schema)
	}
	about, err := offers{delaySchema, nil}.Describe(t.Context())
	require.NoError(t, err)
	about.Protocol, about.Capabilities = sdk.Protocol, []string{sdk.CapabilityActionPlan}
	require.NoError(t, sdk.CheckDescription(about))
	about.Actions = append(about.Actions, about.Actions[0])
	require.ErrorContains(t, sdk.CheckDescription(about), `actions[1]: name "delay": must be unique`)
	about.Actions, about.SettingsSchema = nil, []byte(`{"$ref":"file:///etc/hostname"}`)
	require.ErrorContains(t, sdk.CheckDescription(about), "settings_schema")
}

// doubling is a schema whose check takes a number of evaluations that doubles with each definition.
func doubling(definitions int) string {
	var schema strings.Builder
	schema.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for n := range definitions {
		next := `{"$ref":"#/$defs/d` + strconv.Itoa(n+1) + `"}`
		fmt.Fprintf(&schema, `"d%d":{"allOf":[%s,%s]},`, n, next, next)
	}
	fmt.Fprintf(&schema, `"d%d":{}},"examples":[{}]}`, definitions)
	return schema.String()
}

func TestSchemaThatTakesTooLongIsRejected(t *testing.T) {
	wide := `{"properties":{"a":{}`
	for n := range 2 * 1000 {
		wide += `,"` + strconv.Itoa(n) + `":{"type":"string"}`
	}
	for schema, rejected := range map[string]bool{
		doubling(45): true, doubling(7): false,
		`{"properties":{"children":{"items":{"$ref":"#"}}}}`:                                        false,
		`{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`:                                 false,
		`{"properties":{"and":{"items":{"$ref":"#"}},"not":{"$ref":"#"}},"maxProperties":1}`:        false,
		`{"anyOf":[{"properties":{"and":{"$ref":"#"}}},{"properties":{"and":{"$ref":"#"}}}]}`:       true,
		`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`:                                true,
		`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"a":{"$ref":"#"}}}`:                  true,
		`{"$dynamicAnchor":"a","properties":{"a":{"$dynamicRef":"#a"}}}`:                            true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"},{"$ref":"#"}]}`: false,
		`{"anyOf":[` + strings.Repeat(`{"const":1},`, 1000) + `{}]}`:                                true,
		wide + `}}`: false,
	} {
		_, err := sdk.CheckParameters([]byte(schema), nil)
		if rejected {
			require.ErrorContains(t, err, "parameters_schema: is too complex", schema)
		} else {
			require.NoError(t, err, schema)
		}
	}
	require.ErrorContains(t, sdk.CheckDescription(&sdk.Description{SettingsSchema: []byte(doubling(45))}),
		"settings_schema: is too complex")
}

func TestInvalidParametersDoNotReachThePlugin(t *testing.T) {
	planned := 0
	client, _ := serve(t, offers{delaySchema, &planned})
	for parameters, says := range map[string]string{
		`{"minutes":5}`: "", "": "", `{"minutes":99}`: "parameters.minutes must be at most 60, not 99",
		`[]`: "parameters must be a JSON object", `{}`: "parameters.minutes is required",
	} {
		before := planned
		_, err := client.Actions().PlanAction(t.Context(),
			&pb.ActionRequest{Action: "delay", Parameters: []byte(parameters)})
		if says == "" {
			require.NoError(t, err)
			require.Equal(t, before+1, planned)
			continue
		}
		require.True(t, sdk.IsRefusal(err), err)
		require.ErrorContains(t, err, says)
		require.Equal(t, before, planned)
	}
}

// offers is a plugin with one action.
type offers struct {
	schema  string
	planned *int // counts its calls
}

func (o offers) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := minimal{}.Describe(ctx)
	d.Actions = []*pb.ActionOffer{{Name: "delay", ParametersSchema: []byte(o.schema)}}
	return d, err
}

func (o offers) PlanAction(_ context.Context, request *pb.ActionRequest) (*sdk.Decision, error) {
	var parameters struct {
		Minutes int `json:"minutes"`
	}
	if err := sdk.ReadParameters(request, &parameters); err != nil {
		return nil, err
	}
	*o.planned++
	return sdk.Skip("a test")
}
