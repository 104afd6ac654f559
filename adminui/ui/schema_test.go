package ui

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const exampleSchema = `{"type":"object","required":["minutes","worn"],"properties":{
	"minutes":{"type":"integer","minimum":1,"maximum":60,"description":"how much later"},
	"worn":{"type":"boolean"}, "urgent":{"type":"boolean"}, "reason":{"enum":["busy",2,null]},
	"note":{"type":"string"}, "lines":{"type":"array"}, "any":{"description":"anything"},
	"both":{"type":["string","null"]}, "count":{"type":["integer","string"]}, "flag":{"type":["null","boolean"]},
	"free":true, "never":false}}`

func TestSchemaBecomesFormFields(t *testing.T) {
	inputs, rules := map[string]Filter{}, map[string]string{}
	for _, field := range SchemaFields([]byte(exampleSchema)) {
		inputs[field.Name], rules[field.Name] = field.Input(), field.Rule()
	}
	require.Equal(t, Filter{Name: "parameter-minutes", Label: "minutes: how much later",
		Hint: "integer, 1 … 60"}, inputs["minutes"])
	require.Equal(t, []Option{{Value: "true", Label: "true"}, {Value: "false", Label: "false"}}, inputs["worn"].Options)
	require.Equal(t, Option{Label: "–"}, inputs["urgent"].Options[0], "it may be left out")
	require.Equal(t, []Option{{Label: "–"}, {Value: "busy", Label: "busy"}, {Value: "2", Label: "2"},
		{Value: "null", Label: "null"}}, inputs["reason"].Options)
	require.Equal(t, []string{"JSON", "array", "[string null]"},
		[]string{inputs["any"].Hint, inputs["lines"].Hint, inputs["both"].Hint})
	require.Equal(t, map[string]string{"minutes": "integer: how much later", "worn": "boolean", "urgent": "boolean",
		"reason": "busy, 2, null", "note": "string", "lines": "array", "any": "anything",
		"both": "[string null]", "count": "[integer string]", "flag": "[null boolean]"}, rules)
	require.Equal(t, "integer, 1 … 60: how much later", SchemaFields([]byte(exampleSchema))[5].Bounds())
	for _, none := range []string{"", "{", "true", `{"type":"object"}`} {
		require.Empty(t, SchemaFields([]byte(none)), none)
	}
}

func TestFormFieldsBecomeJSONOfTheirTypes(t *testing.T) {
	for entered, want := range map[[2]string]string{
		{"minutes", ""}: `{}`, {"minutes", " 5 "}: `{"minutes":5}`, {"minutes", "soon"}: `{"minutes":"soon"}`,
		{"worn", "true"}: `{"worn":true}`, {"reason", "busy"}: `{"reason":"busy"}`, {"reason", "2"}: `{"reason":2}`,
		{"reason", "null"}: `{"reason":null}`, {"reason", "sun"}: `{"reason":"sun"}`, {"note", "5"}: `{"note":"5"}`,
		{"note", `say "x"`}: `{"note":"say \"x\""}`, {"lines", `[{"count":1}]`}: `{"lines":[{"count":1}]}`,
		{"lines", "[1"}: `{"lines":"[1"}`, {"any", "text"}: `{"any":"text"}`, {"any", "1.50"}: `{"any":1.50}`,
		{"both", "5"}: `{"both":"5"}`, {"both", "true"}: `{"both":"true"}`, {"both", "null"}: `{"both":null}`,
		{"both", `"a"`}: `{"both":"\"a\""}`, {"count", "5"}: `{"count":5}`, {"count", "5.5"}: `{"count":"5.5"}`,
		{"count", "[5]"}: `{"count":"[5]"}`,
		{"flag", "true"}: `{"flag":true}`, {"flag", "5"}: `{"flag":5}`, {"free", "1"}: `{}`,
		{"unknown", "1"}: `{}`, {"note", "\xff"}: `{"note":"` + "\uFFFD" + `"}`,
	} {
		object := SchemaObject([]byte(exampleSchema), func(name string) string {
			if name == fieldPrefix+entered[0] {
				return entered[1]
			}
			return ""
		})
		require.Equal(t, want, string(object), entered)
	}
}
