package menu

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// The bodies have the deviations that clients of other hubs send.
func TestDeviationsOfRealClientsAreAccepted(t *testing.T) {
	tea := func(rest string) string { return `M {"items":[{"ref_id":"tea","title":"Tea","price":1,` + rest + `}]}` }
	group := func(rest string) string { return `M {"option_groups":[{"ref_id":"G","title":"g",` + rest + `}]}` }
	languages := func(h *memoryDB) (list []string) {
		for _, t := range decodeDocument[[]TitledTranslation](h.item("tea").Translations) {
			list = append(list, t.Language+" "+*t.Text)
		}
		return list
	}
	for says, row := range map[string]struct {
		request string
		kind    Kind
		want    []Warning
		holds   func(t *testing.T, h *memoryDB)
	}{
		"a language with regions": {tea(`"translations":[{"language":"es_ES","title":"Té"},{"language":"es-mx",` +
			`"title":"Te"},` +
			`{"language":"es","title":"T"}]`), Items, []Warning{
			{"translations[0].language", `translations[0].language has a region, and is stored as "es-ES"`},
			{"translations[1].language", `translations[1].language has a region, and is stored as "es-MX"`}},
			func(t *testing.T, h *memoryDB) {
				require.Equal(t, []string{"es-ES Té", "es-MX Te", "es T"}, languages(h))
			}},
		"a language twice": {tea(`"translations":[{"language":"he","title":"a"},{"language":"iw","title":"b"}]`), Items,
			[]Warning{{"translations[1].language",
				"translations[1].language is given twice, and the first translation is used"}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"he a"}, languages(h)) }},
		"an unknown language": {tea(`"translations":[{"language":"Klingon","title":"a"}]`), Items,
			[]Warning{{"translations[0].language",
				`translations[0].language is not a two-letter ISO 639-1 code, and is stored as "klingon"`}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"klingon a"}, languages(h)) }},
		"false for no text": {tea(`"description":false,"img_url":false`), Items, []Warning{
			{"description", "description is false, and is read as empty"},
			{"img_url", "img_url is false, and is read as empty"}},
			func(t *testing.T, h *memoryDB) { require.Empty(t, *h.item("tea").Description) }},
		"false for no parent": {`M {"categories":[{"ref_id":"C","name":"c","parent_ref_id":false}]}`, Categories,
			[]Warning{{"parent_ref_id", "parent_ref_id is false, and is read as empty"}},
			func(t *testing.T, h *memoryDB) { require.Zero(t, h.category("C").ParentID) }},
		"false for no food type": {tea(`"food_type":false`), Items,
			[]Warning{{"food_type", "food_type is false, and is read as absent"}},
			func(t *testing.T, h *memoryDB) { require.Empty(t, h.item("tea").FoodType) }},
		"false for no translation": {tea(`"translations":[{"language":"de","title":"Tee","description":false},` +
			`{"language":"fr","title":false}]`), Items, []Warning{
			{"translations[0].description", "translations[0].description is false, and is read as empty"},
			{"translations[1].title", "translations[1].title is false, and is read as empty"}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"de Tee", "fr "}, languages(h)) }},
		"an empty array for tags": {tea(`"tags":[ ]`), Items,
			[]Warning{{"tags", "tags is an array, which counts as an empty object"}},
			func(t *testing.T, h *memoryDB) { require.JSONEq(t, `{}`, string(h.item("tea").Tags)) }},
		"serves nobody": {tea(`"serves":0`), Items, []Warning{{"serves", "serves is 0, and is read as absent"}},
			func(t *testing.T, h *memoryDB) { require.Nil(t, h.item("tea").Serves) }},
		"a platform without a name": {tea(`"included_platforms":["web","",null]`), Items,
			[]Warning{{"included_platforms", "included_platforms contains empty names, which are ignored"}},
			func(t *testing.T, h *memoryDB) {
				require.JSONEq(t, `["web"]`, string(h.item("tea").IncludedPlatforms))
			}},
		"no platform with a name": {tea(`"included_platforms":[" "]`), Items,
			[]Warning{{"included_platforms", "included_platforms contains only empty names, and is read as absent"}},
			func(t *testing.T, h *memoryDB) { require.Nil(t, h.item("tea").IncludedPlatforms) }},
		"an excluded platform without a name": {`M {"charges":[{"code":"DC_F","title":"Delivery Charge",` +
			`"structure":{"value":1},"excluded_platforms":["web",""]}]}`, Charges,
			[]Warning{{"excluded_platforms", "excluded_platforms contains empty names, which are ignored"}},
			func(t *testing.T, h *memoryDB) {
				for _, charge := range h.charges {
					require.JSONEq(t, `["web"]`, string(charge.ExcludedPlatforms))
				}
			}},
		"a translation without a language": {tea(`"translations":[{"language":" ","title":"x"},` +
			`{"language":"de","title":"Tee"}]`), Items, []Warning{
			{"translations[0].language", "translations[0].language is empty, and the translation is ignored"}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"de Tee"}, languages(h)) }},
		"no translation with a language": {tea(`"translations":[{"title":"x"}]`), Items, []Warning{
			{"translations[0].language", "translations[0].language is empty, and the translation is ignored"}},
			func(t *testing.T, h *memoryDB) { require.Nil(t, h.item("tea").Translations) }},
		"an empty reference": {tea(`"category_ref_ids":[""," ",null]`), Items,
			[]Warning{{"category_ref_ids", "category_ref_ids contains only empty references, and is read as absent"}},
			func(t *testing.T, h *memoryDB) { require.Empty(t, h.categoriesOf("tea")) }},
		"a bare percent sign": {tea(`"img_url":"https://x.example/100%.png?a=%20b%"`), Items,
			[]Warning{{"img_url", "img_url has an unescaped %, stored as %25"}},
			func(t *testing.T, h *memoryDB) {
				require.Equal(t, "https://x.example/100%25.png?a=%20b%25", *h.item("tea").ImgURL)
			}},
		"no minimum": {group(`"min_selectable":-1`), OptionGroups,
			[]Warning{{"min_selectable", "min_selectable is -1, and is read as 0"}},
			func(t *testing.T, h *memoryDB) { require.Zero(t, h.group("G").MinSelectable) }},
	} {
		runEffects(t, []effectRow{{says, []string{row.request}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Empty(t, message(last, row.kind, 0))
			require.Equal(t, row.want, last.Outcomes[row.kind][0].Warnings)
			row.holds(t, h)
		}}})
	}
}

func TestWrongTypesAreStillRejected(t *testing.T) {
	for _, body := range []string{
		`{"items":[{"ref_id":"a","price":1,"description":true}]}`, `{"items":[{"ref_id":"a","price":1,"title":false}]}`,
		`{"items":[{"ref_id":"a","price":"x","description":false}]}`, `{"items":[{"ref_id":false,"price":1}]}`,
		`{"items":[{"ref_id":"a","price":1,"tags":["new"]}]}`,
		`{"items":[{"ref_id":"a","price":1,"img_url":"https://x.example:bad/%"}]}`,
	} {
		_, err := Decode([]byte(body), MasterScope(), Rules{Vocabulary: fakeVocabulary(t)})
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
	}
}

func TestNullTagsAreIgnored(t *testing.T) {
	runEffects(t, []effectRow{{"null",
		[]string{`M {"items":[{"ref_id":"tea","title":"Tea","price":10,"tags":{"default":["new"],"web":null,` +
			`"app":[]}}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.JSONEq(t, `{"default":["new"],"app":[]}`, string(h.item("tea").Tags))
		}}, {"only null",
		[]string{`M {"items":[{"ref_id":"tea","title":"Tea","price":10,"tags":{"default":["new"]}}]}`,
			`M {"items":[{"ref_id":"tea","price":10,"tags":{"default":null,"web":null}}]}`},
		func(t *testing.T, h *memoryDB, last Plan) {
			require.JSONEq(t, `{"default":["new"]}`, string(h.item("tea").Tags))
			require.False(t, last.Outcomes[Items][0].Changed)
		}}, {"none",
		[]string{`M {"items":[{"ref_id":"tea","title":"Tea","price":10,"tags":{"default":["new"]}}]}`,
			`M {"items":[{"ref_id":"tea","price":10,"tags":{}}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.JSONEq(t, `{}`, string(h.item("tea").Tags))
		}}})
}

func TestBlankReferencesKeepTheCategories(t *testing.T) {
	for sent, kept := range map[string][]string{`[null]`: {"C"}, `[""]`: {"C"}, `["","typo"]`: {"C"}, `[]`: {}} {
		runEffects(t, []effectRow{{sent, []string{
			`M {"categories":[{"ref_id":"C","name":"c"}],"items":[{"ref_id":"tea","title":"Tea","price":1,` +
				`"category_ref_ids":["C"]}]}`,
			`M {"items":[{"ref_id":"tea","price":1,"category_ref_ids":` + sent + `}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) { require.ElementsMatch(t, kept, h.categoriesOf("tea")) }}})
	}
}

func TestErrorInAListHasTheSentIndex(t *testing.T) {
	long := `["a",""," ","` + strings.Repeat("x", 256) + `"]`
	for body, place := range map[string]string{
		`{"items":[{"ref_id":"a","price":1,"category_ref_ids":` + long + `}]}`:   "category_ref_ids[3]",
		`{"items":[{"ref_id":"a","price":1,"included_platforms":` + long + `}]}`: "included_platforms[3]",
	} {
		_, err := Decode([]byte(body), MasterScope(), Rules{Vocabulary: fakeVocabulary(t)})
		require.ErrorContains(t, err, place+" must be at most 255")
	}
}

func TestObjectsSentTwiceAreMerged(t *testing.T) {
	runEffects(t, []effectRow{
		{"taxes", []string{"M " + two, `M {"taxes":[{"code":"CGST_P","structure":{"value":5},"item_ref_ids":["tea"]},` +
			`{"code":"CGST_P","title":"GST","structure":{"value":5.0},"item_ref_ids":["cake"],"clear_items":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"cake", "tea"}, h.taxed("CGST_P 5"))
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Taxes])
				require.Equal(t, []Warning{{"code",
					"code and structure.value are the same as in taxes[0], and the two are merged"}},
					last.Outcomes[Taxes][1].Warnings)
			}},
		{"option groups", []string{"M " + two, `M {"option_groups":[{"ref_id":"G","item_ref_ids":["tea"]},` +
			`{"ref_id":"G","title":"g","item_ref_ids":["cake"],"clear_items":true,"max_selectable":2}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea", "cake"}, h.itemsOf("G"))
				require.Equal(t, int64(2), h.group("G").MaxSelectable)
				require.Equal(t, []Warning{{"ref_id",
					"ref_id is the same as in option_groups[0], and the two are merged"}},
					last.Outcomes[OptionGroups][1].Warnings)
			}},
	})
}

func TestTaxSentTwiceStaysInactive(t *testing.T) {
	tax := func(value, rest string) string {
		return `{"code":"CGST_P","title":"GST","structure":{"value":` + value + `}` + rest + `}`
	}
	runEffects(t, []effectRow{{"a tax", []string{"M " + two,
		`M {"taxes":[` + tax("5", `,"item_ref_ids":["tea"]`) + `]}`,
		`M {"taxes":[` + tax("5", `,"active":false`) + `,` + tax("5", "") + `,` +
			tax("9", `,"active":false,"item_ref_ids":["tea"]`) + `]}`},
		func(t *testing.T, h *memoryDB, _ Plan) { require.Equal(t, []string{"tea"}, h.taxed("CGST_P 9")) }}})
}

func TestObjectSentTwiceNeedsOneTitle(t *testing.T) {
	runEffects(t, []effectRow{
		{"a tax", []string{"M " + two, `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":5},` +
			`"item_ref_ids":["tea"]},{"code":"CGST_P","structure":{"value":5.0},"item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"cake", "tea"}, h.taxed("CGST_P 5"))
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Taxes])
			}},
		{"an option group", []string{"M " + two, `M {"option_groups":[{"ref_id":"G","title":"g",` +
			`"item_ref_ids":["tea"]},{"ref_id":"G","item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea", "cake"}, h.itemsOf("G"))
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[OptionGroups])
			}},
	})
}

func TestTaxSentTwiceIsOnAllItems(t *testing.T) {
	const stored = `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":5},"item_ref_ids":["all"]}]}`
	runEffects(t, []effectRow{
		{"a new one", []string{"M " + two, `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":5},` +
			`"item_ref_ids":["tea"]},{"code":"CGST_P","structure":{"value":5},"item_ref_ids":["all"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 5"))
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Taxes])
			}},
		{"a stored one is cleared", []string{"M " + two, stored,
			`M {"taxes":[{"code":"CGST_P","structure":{"value":5},"item_ref_ids":["tea"],"clear_items":true},` +
				`{"code":"CGST_P","structure":{"value":5},"item_ref_ids":["all"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) { require.Equal(t, []string{"all"}, h.taxed("CGST_P 5")) }},
	})
}

func TestSecondObjectTakesOverFromAFailedFirst(t *testing.T) {
	runEffects(t, []effectRow{
		{"the flag to clear", []string{"M " + two,
			`M {"option_groups":[{"ref_id":"G","title":"g","max_selectable":2,"item_ref_ids":["tea"]}]}`,
			`M {"option_groups":[{"ref_id":"G","min_selectable":5},` +
				`{"ref_id":"G","clear_items":true,"item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"cake"}, h.itemsOf("G"))
				require.Equal(t, Stats{Updated: 1, Errors: 1}, last.Stats[OptionGroups])
			}},
		{"the title", []string{"M " + two, `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":5},` +
			`"item_ref_ids":["none"]},{"code":"CGST_P","structure":{"value":5},"item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"cake"}, h.taxed("CGST_P 5"))
				require.Equal(t, Stats{Created: 1, Errors: 1}, last.Stats[Taxes])
			}},
	})
}

func TestGroupSentTwiceKeepsTheChangesOfBoth(t *testing.T) {
	const stored = `M {"option_groups":[{"ref_id":"G","title":"old"}]}`
	runEffects(t, []effectRow{
		{"the second changes nothing more", []string{"M " + two, stored,
			`M {"option_groups":[{"ref_id":"G","title":"new","item_ref_ids":["tea"]},` +
				`{"ref_id":"G","item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "new", h.group("G").Title)
				require.Equal(t, []string{"tea", "cake"}, h.itemsOf("G"))
				require.Equal(t, Stats{Updated: 2}, last.Stats[OptionGroups])
			}},
		{"the second changes another field", []string{stored, `M {"option_groups":[{"ref_id":"G","title":"new"},` +
			`{"ref_id":"G","sort_order":7}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "new", h.group("G").Title)
				require.Equal(t, int64(7), h.group("G").SortOrder)
			}},
		{"the second fails", []string{stored, `M {"option_groups":[{"ref_id":"G","title":"new","max_selectable":2},` +
			`{"ref_id":"G","min_selectable":3}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Updated: 1, Errors: 1}, last.Stats[OptionGroups])
				require.Equal(t, "new", h.group("G").Title)
				require.Equal(t, int64(0), h.group("G").MinSelectable)
			}},
		{"the second is the same", []string{stored, `M {"option_groups":[{"ref_id":"G","title":"new"},` +
			`{"ref_id":"G","title":"new"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "new", h.group("G").Title)
				require.Equal(t, []bool{true, false},
					[]bool{last.Outcomes[OptionGroups][0].Changed, last.Outcomes[OptionGroups][1].Changed})
			}},
	})
}

func TestFloatingPointNoiseIsRoundedOffPrices(t *testing.T) {
	const body = `{"items":[{"ref_id":"a","title":"A","price":6.599999999999999,"external_price":7.1000000000000005,
		"platform_pricing":[{"platform":"web","price":6.6000001}]},{"ref_id":"b","title":"B","price":10.005}],
		"options":[{"ref_id":"c","title":"C","price":0.30000000000000004}],
		"taxes":[{"code":"VAT_P","title":"VAT","structure":{"value":19.0000000000001}}],
		"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":2.4999999999999996}},
			{"code":"DC_P","title":"Delivery Charge","structure":{"value":2.4999999999999996}}]}`
	rules := Rules{Country: "DE", Currency: "EUR", Vocabulary: fakeVocabulary(t)}
	request, err := Decode([]byte(body), MasterScope(), rules)
	require.NoError(t, err)
	encoded, err := json.Marshal([]*core.Amount{request.Items[0].Object.Price, request.Items[0].Object.ExternalPrice,
		request.Items[0].Object.PlatformPricing[0].Price, request.Items[1].Object.Price,
		request.Options[0].Object.Price,
		request.Taxes[0].Object.Structure.Value, request.Charges[0].Object.Structure.Value,
		request.Charges[1].Object.Structure.Value})
	require.NoError(t, err)
	require.Equal(t, `[6.6,7.1,6.6,10.005,0.3,19.0000000000001,2.5,2.4999999999999996]`, string(encoded))
	want := []Warning{{"price",
		"price has more decimals than the currency in 5 cases, rounded such as 6.599999999999999 to 6.6"}}
	require.Equal(t, want, request.Warnings)
	require.Equal(t, want, Decide(request, State{}, func() int64 { return 1 }).Warnings)

	rules.Currency = "JPY"
	request, err = Decode([]byte(`{"items":[{"ref_id":"a","price":119.99999999999999},{"ref_id":"b","price":119.5}]}`),
		MasterScope(), rules)
	require.NoError(t, err)
	require.Equal(t, "120", request.Items[0].Object.Price.String())
	require.Equal(t, "119.5", request.Items[1].Object.Price.String())
}
