package menu

import (
	"testing"

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
	_, err := EffectiveMenu{Items: []EffectiveItem{{Title: "\xff"}}}.Encode()
	require.Error(t, err)
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\"\\\x00\x1f\x7f<&é\u2028\ufffd🍛"))))
	texts := rapid.OneOf(rapid.SliceOfN(text, 0, 3), rapid.Just[[]string](nil))
	number, boolean := rapid.Int64(), rapid.Bool()
	amount := rapid.Custom(func(t *rapid.T) core.Amount {
		exponent := rapid.OneOf(rapid.Int32Range(-3, 0), rapid.Int32Range(-18, 18))
		return core.Amount{Decimal: decimal.New(rapid.OneOf(number, rapid.Int64Range(-10, 10_000)).Draw(t,
			"coefficient"), exponent.Draw(t, "exponent"))}
	})
	document := rapid.Custom(func(t *rapid.T) jsontext.Value {
		list := rapid.SliceOf(text).Draw(t, "document")
		return encodeDocument(list, boolean.Draw(t, "sent"))
	})
	food := rapid.SampledFrom([]FoodType{"", "1", "4"})
	rapid.Check(t, func(t *rapid.T) {
		m := EffectiveMenu{StoreRefID: text.Draw(t, "store"), Platform: text.Draw(t, "platform")}
		for range rapid.IntRange(0, 3).Draw(t, "objects") {
			m.Categories = append(m.Categories, EffectiveCategory{
				ID: number.Draw(t, "id"), RefID: text.Draw(t, "ref"), Name: text.Draw(t, "name"),
				Description: rapid.Ptr(text, true).Draw(t, "description"),
				SortOrder:   number.Draw(t, "order"), ImgURL: rapid.Ptr(text, true).Draw(t, "image"),
				ParentRefID: text.Draw(t, "parent"), Translations: document.Draw(t, "translations"),
			})
			m.Items = append(m.Items, EffectiveItem{
				ID: number.Draw(t, "id"), RefID: text.Draw(t, "ref"), Title: text.Draw(t, "title"),
				Description: rapid.Ptr(text, true).Draw(t, "description"),
				Price:       amount.Draw(t, "price"), MarkupPrice: rapid.Ptr(amount, true).Draw(t, "markup"),
				Weight: rapid.Ptr(amount, true).Draw(t, "weight"),
				Serves: rapid.Ptr(number, true).Draw(t, "serves"), FoodType: food.Draw(t, "food"),
				SortOrder:   number.Draw(t, "order"),
				Recommended: boolean.Draw(t, "recommended"), CurrentStock: number.Draw(t, "stock"),
				FulfillmentModes: document.Draw(t, "modes"),
				ImgURL:           text.Draw(t, "image"), Tags: texts.Draw(t, "tags"),
				Translations: document.Draw(t, "translations"), KeyValueGroups: document.Draw(t, "values"),
				CategoryRefIDs: texts.Draw(t, "categories"), OptionGroupRefIDs: texts.Draw(t, "groups"),
			})
			m.OptionGroups = append(m.OptionGroups, EffectiveOptionGroup{
				ID: number.Draw(t, "id"), RefID: text.Draw(t, "ref"), Title: text.Draw(t, "title"),
				Description:   rapid.Ptr(text, true).Draw(t, "description"),
				MinSelectable: number.Draw(t, "min"), MaxSelectable: number.Draw(t, "max"),
				MultiOptionsEnabled: boolean.Draw(t, "multi"),
				SortOrder:           number.Draw(t, "order"), DisplayInline: boolean.Draw(t, "inline"),
				Translations: document.Draw(t, "translations"),
			})
			m.Options = append(m.Options, EffectiveOption{
				ID: number.Draw(t, "id"), RefID: text.Draw(t, "ref"), Title: text.Draw(t, "title"),
				Description: rapid.Ptr(text, true).Draw(t, "description"),
				Price:       amount.Draw(t, "price"), Weight: rapid.Ptr(number, true).Draw(t, "weight"),
				FoodType: food.Draw(t, "food"), SortOrder: number.Draw(t, "order"),
				Recommended: boolean.Draw(t, "recommended"), ImgURL: text.Draw(t, "image"),
				Translations:   document.Draw(t, "translations"),
				KeyValueGroups: document.Draw(t, "values"), OptGrpRefIDs: texts.Draw(t, "groups"),
				NestedOptGrps: texts.Draw(t, "nested"),
			})
		}
		requireEncoded(t, m)
	})
}
