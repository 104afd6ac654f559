package menu

import (
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// requireEncoded compares Encode with the JSON library.
func requireEncoded(t require.TestingT, m EffectiveMenu) {
	want, err := json.Marshal(m, json.Deterministic(true))
	require.NoError(t, err)
	got, err := m.Encode()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestEncodeMatchesTheJSONLibrary(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("S1", whole)
	requireEncoded(t, EffectiveMenu{})
	requireEncoded(t, EffectiveMenu{Items: make([]EffectiveItem, partSize),
		Options: make([]EffectiveOption, 2*partSize+1)})
	requireEncoded(t, Effective("S1", h.menu("S1"), tasty, nil))
	h.send("S1", string(realFile(t, "menu-max.json")))
	requireEncoded(t, Effective("S1", h.menu("S1"), tasty, nil))
}

func TestEncodeMatchesTheJSONLibraryForRandomMenus(t *testing.T) {
	_, err := EffectiveMenu{Items: []EffectiveItem{{RefID: "\xff"}}}.Encode()
	require.Error(t, err)
	rapid.Check(t, func(t *rapid.T) {
		m := EffectiveMenu{StoreRefID: drawnText.Draw(t, "store"), Platform: drawnText.Draw(t, "platform")}
		for range rapid.IntRange(0, 3).Draw(t, "objects") {
			m.Categories = append(m.Categories, drawn[EffectiveCategory](t))
			m.Items = append(m.Items, drawn[EffectiveItem](t))
			m.OptionGroups = append(m.OptionGroups, drawn[EffectiveOptionGroup](t))
			m.Options = append(m.Options, drawn[EffectiveOption](t))
		}
		requireEncoded(t, m)
	})
}

var (
	drawnText = rapid.OneOf(rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("a\"\\\x00\x1f\x7f<&é\u2028\ufffd🍛"))))
	drawnTexts  = rapid.OneOf(rapid.SliceOfN(drawnText, 0, 3), rapid.Just[[]string](nil))
	drawnNumber = rapid.Int64()
	drawnAmount = rapid.Custom(func(t *rapid.T) core.Amount {
		exponent := rapid.OneOf(rapid.Int32Range(-3, 0), rapid.Int32Range(-18, 18))
		return core.Amount{Decimal: decimal.New(rapid.OneOf(drawnNumber, rapid.Int64Range(-10, 10_000)).Draw(t,
			"coefficient"), exponent.Draw(t, "exponent"))}
	})
	drawnHours = rapid.SampledFrom([][]core.DayHours{nil, {}, {{Day: "monday",
		Slots: []core.HoursSlot{{StartTime: "10:00:00", EndTime: "12:00:00"}}}}})
)

// drawn returns a struct with random values in its fields.
func drawn[T any](t *rapid.T) (object T) {
	for _, f := range fieldsOf[T]() {
		switch field := f.value(unsafe.Pointer(&object)).Addr().Interface().(type) {
		case *string:
			*field = drawnText.Draw(t, f.name)
		case **string:
			*field = rapid.Ptr(drawnText, true).Draw(t, f.name)
		case *[]string:
			*field = drawnTexts.Draw(t, f.name)
		case *int64:
			*field = drawnNumber.Draw(t, f.name)
		case **int64:
			*field = rapid.Ptr(drawnNumber, true).Draw(t, f.name)
		case *bool:
			*field = rapid.Bool().Draw(t, f.name)
		case **bool:
			*field = rapid.Ptr(rapid.Bool(), true).Draw(t, f.name)
		case *core.Amount:
			*field = drawnAmount.Draw(t, f.name)
		case **core.Amount:
			*field = rapid.Ptr(drawnAmount, true).Draw(t, f.name)
		case *FoodType:
			*field = rapid.SampledFrom([]FoodType{"", "1", "4"}).Draw(t, f.name)
		case *jsontext.Value:
			*field = encodeDocument(drawnTexts.Draw(t, f.name), rapid.Bool().Draw(t, f.name+" sent"))
		case *[]core.DayHours:
			*field = drawnHours.Draw(t, f.name)
		default:
			t.Fatalf("%s has type %T: draw it here", f.name, field)
		}
	}
	return object
}
