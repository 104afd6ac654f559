package aggregator

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

func TestPluginsReceiveTranslatedNamesAndTitles(t *testing.T) {
	list, err :=
		localNames(jsontext.Value(`[{"language":"he","name":"a"},{"language":"hi","title":"b","description":"c"},` +
			`{"language":"id"}]`))
	require.NoError(t, err)
	require.Len(t, list, 3)
	for i, want := range [][]string{{"he", "a", ""}, {"hi", "b", "c"}, {"id", "", ""}} {
		require.Equal(t, want, []string{list[i].Language, list[i].Name, list[i].Description})
	}
}

// fill sets each field of a struct. Documents contain what their name says.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	price, err := core.ParseAmount("2.5")
	require.NoError(t, err)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch field := v.Field(i).Addr().Interface().(type) {
		case *string:
			*field = name
		case **string:
			*field = &name
		case *int64:
			*field = 7
		case **int64:
			*field = new(int64(7))
		case *bool:
			*field = true
		case **bool:
			*field = new(true)
		case *core.Amount:
			*field = price
		case **core.Amount:
			*field = &price
		case *menu.FoodType:
			*field = "1"
		case *[]string:
			*field = []string{name}
		case *[]core.DayHours:
			*field = []core.DayHours{{Day: "monday"}}
		case *jsontext.Value:
			*field = map[string]jsontext.Value{"fulfillment_modes": jsontext.Value(`["pickup"]`),
				"translations":     jsontext.Value(`[{"language":"hi","title":"b"}]`),
				"key_value_groups": jsontext.Value(`[{"group":"g"}]`)}[name]
		default:
			require.True(t, v.Type().Field(i).Anonymous, "%s has type %T: fill it here", name, field)
			fill(t, v.Field(i))
		}
	}
}

// unset returns the fields of a message that are not set.
func unset(message proto.Message) (names []string) {
	fields := message.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if !message.ProtoReflect().Has(fields.Get(i)) {
			names = append(names, string(fields.Get(i).Name()))
		}
	}
	return names
}

// requireFields checks that a message has the fields of a menu object, by name.
func requireFields(t *testing.T, object any, message proto.Message) {
	t.Helper()
	for _, f := range reflect.VisibleFields(reflect.TypeOf(object)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || slices.Contains([]string{"id", "available_now"}, name) {
			continue
		}
		require.NotNil(t, message.ProtoReflect().Descriptor().Fields().ByTextName(name),
			"%s is not in plugins/proto/servery/plugin/v1/menu.proto", name)
	}
}

// filled returns an object with a value in each field.
func filled[T any](t *testing.T) (object T) {
	fill(t, reflect.ValueOf(&object).Elem())
	return object
}

func TestPluginsReceiveEveryFieldThatCustomersSee(t *testing.T) {
	effective := menu.EffectiveMenu{
		Categories:   []menu.EffectiveCategory{filled[menu.EffectiveCategory](t)},
		Items:        []menu.EffectiveItem{filled[menu.EffectiveItem](t)},
		OptionGroups: []menu.EffectiveOptionGroup{filled[menu.EffectiveOptionGroup](t)},
		Options:      []menu.EffectiveOption{filled[menu.EffectiveOption](t)},
	}
	rendered, err := menuForPlugin(effective)
	require.NoError(t, err)
	requireFields(t, effective.Categories[0], rendered.GetCategories()[0])
	requireFields(t, effective.Items[0], rendered.GetItems()[0])
	requireFields(t, effective.OptionGroups[0], rendered.GetOptionGroups()[0])
	requireFields(t, effective.Options[0], rendered.GetOptions()[0])
	require.Empty(t, unset(rendered.GetCategories()[0]))
	require.Empty(t, unset(rendered.GetItems()[0]))
	require.Empty(t, unset(rendered.GetOptionGroups()[0]))
	require.Empty(t, unset(rendered.GetOptions()[0]))

	master := filled[menu.Item](t)
	checked, err := itemForPlugin(&master)
	require.NoError(t, err)
	require.Equal(t, []string{"tags", "translations", "category_ref_ids", "option_group_ref_ids"}, unset(checked))
}
