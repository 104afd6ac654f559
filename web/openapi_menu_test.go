package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/menu"
)

// jsonNames returns the JSON names of the fields of a struct.
func jsonNames(of any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func TestOpenAPIHasEveryMenuField(t *testing.T) {
	schemas := openAPIDocument(t).Components.Schemas
	for name, object := range map[string]any{
		"Category": menu.CategoryObject{}, "StoredCategory": menu.APICategory{},
		"EffectiveCategory": menu.EffectiveCategory{},
		"Item":              menu.ItemObject{}, "StoredItem": menu.APIItem{}, "EffectiveItem": menu.EffectiveItem{},
		"OptionGroup": menu.OptionGroupObject{}, "StoredOptionGroup": menu.APIOptionGroup{},
		"EffectiveOptionGroup": menu.EffectiveOptionGroup{},
		"Option":               menu.OptionObject{}, "StoredOption": menu.APIOption{},
		"EffectiveOption": menu.EffectiveOption{},
		"Tax":             menu.TaxObject{}, "StoredTax": menu.APITax{},
		"Charge": menu.ChargeObject{}, "StoredCharge": menu.APICharge{},
	} {
		require.Contains(t, schemas, name)
		described := slices.Collect(maps.Keys(schemas[name].Value.Properties))
		if name == "StoredTax" || name == "StoredCharge" {
			described = append(described, "ref_id") // they have none
		}
		require.ElementsMatch(t, jsonNames(object), described, "the schema %s and %T have the same fields", name,
			object)
	}
}

// outside returns values beyond the bounds of a schema, and within them.
func outside(s *openapi3.Schema) (wrong, right []any) {
	number := func(n *float64, step float64) {
		if n != nil {
			wrong, right = append(wrong, *n+step), append(right, *n)
		}
	}
	switch {
	case s.Type.Includes("integer"):
		number(s.Min, -1)
		number(s.Max, 1)
	case s.Type.Includes("number"):
		number(s.Min, -0.5)
	case s.Type.Includes("string") && s.MaxLength != nil && *s.MaxLength > 0:
		wrong = append(wrong, "https://"+strings.Repeat("x", int(*s.MaxLength)-len("https://")+1))
		right = append(right, "https://"+strings.Repeat("x", int(*s.MaxLength)-len("https://")))
	}
	return wrong, right
}

func TestOpenAPIHasTheBoundsOfMenuFields(t *testing.T) {
	vocabulary, err := menu.NewVocabulary()
	require.NoError(t, err)
	decode := func(kind, name string, value any) string {
		object := map[string]any{"ref_id": "a", "price": 1}
		object[name] = value
		body, err := json.Marshal(map[string]any{kind: []any{object}})
		require.NoError(t, err)
		_, err = menu.Decode(body, menu.MasterScope(), menu.Rules{Country: "IN", Vocabulary: vocabulary})
		return fmt.Sprint(err)
	}
	schemas, checked := openAPIDocument(t).Components.Schemas, 0
	for kind, schema := range map[string]string{"categories": "Category", "items": "Item",
		"option_groups": "OptionGroup",
		"options":       "Option"} {
		for name, property := range schemas[schema].Value.Properties {
			if property.Value.Enum != nil {
				continue
			}
			wrong, right := outside(property.Value)
			for _, value := range wrong {
				require.Contains(t, decode(kind, name, value), name+" must", "%s %s accepts %.40v", schema, name, value)
				checked++
			}
			for _, value := range right {
				require.NotContains(t, decode(kind, name, value), name+" must", "%s %s rejects %.40v", schema, name,
					value)
			}
			typ := property.Value.Type
			if plain := typ.Includes("integer") || typ.Includes("number"); plain {
				require.NotEmpty(t, wrong, "%s %s has no bounds", schema, name)
			}
		}
	}
	require.Greater(t, checked, 30)
}
