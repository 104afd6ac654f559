package order

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// TestRelayEncodingMatchesTheJSONLibrary fills every field by reflection, so it also covers fields that are added.
func TestRelayEncodingMatchesTheJSONLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var relay Relay
		fill(t, reflect.ValueOf(&relay).Elem())
		want, err := json.Marshal(&relay)
		require.NoError(t, err)
		written, err := relay.AppendTo([]byte("before "))
		require.NoError(t, err)
		require.Equal(t, "before "+string(want), string(written))
	})
}

func TestRelayWithInvalidUTF8IsRejected(t *testing.T) {
	_, err := (&Relay{Customer: Customer{Name: "\xff"}}).AppendTo(nil)
	require.Error(t, err)
}

func fill(t *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[core.Amount]() {
		v.Set(reflect.ValueOf(drawAmount(t, "amount")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 2).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i))
			}
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "Dish", `a "quoted" \ <b>`, "दाल\u2028\x01\n", "\u00e9"}).Draw(t,
			"text"))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	default:
		t.Fatalf("no way to fill %s", v.Type())
	}
}
