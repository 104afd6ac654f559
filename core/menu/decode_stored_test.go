package menu

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// fastTypes are the types that DecodeStored decodes by hand, with every member.
func fastTypes() []any {
	amount, err := core.ParseAmount("12.5")
	if err != nil {
		panic(err)
	}
	doc := jsontext.Value(`[{"a":"\"}]","b":["\\"],"c":{}},1]`)
	ref, item := Ref{7, "tea", true}, ItemValues{amount, &amount, &amount, 3, true, true, -1, doc}
	option := OptionValues{amount, true}
	return []any{
		&item, &option,
		&Item{ref, item, "Té \"1\"\n", new(true), new("r"), new("\\d\u2028"), &amount, new(int64(2)), "1", new("u"),
			doc, doc, doc, doc, doc, doc},
		&OptionGroup{ref, "G", new("d"), 1, -1, true, 5, new("r"), true, doc},
		&Option{ref, option, "O", new(true), new("d"), 4, new(int64(9)), new("u"), "4", true, new("r"), doc, doc, doc},
	}
}

func TestDecodeStoredReadsEveryMember(t *testing.T) {
	for _, want := range fastTypes() {
		requireFull(t, reflect.ValueOf(want).Elem())
		stored, err := json.Marshal(want)
		require.NoError(t, err)
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		require.True(t, decodeFast(string(stored), got), "%s", stored)
		require.Equal(t, want, got)
	}
}

// requireFull checks that every field is set, so that the test covers new fields.
func requireFull(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), "%s is not filled", v.Type().Field(i).Name)
		if v.Type().Field(i).Anonymous {
			requireFull(t, v.Field(i))
		}
	}
}

func TestDecodeStoredFallsBackToTheLibrary(t *testing.T) {
	for _, stored := range []string{`{}`, ` {"title":"a"}`, `{"title" :"a"}`, `{"title":"a" }`, `{"title":"a"} `,
		`{"title":null}`, `{"unknown":[1]}`,
		`{"id":1.0}`, `{"id":9223372036854775808}`, `{"price":1e40}`, `{"food_type":1}`, `{"food_type":""}`,
		`{"tags":null}`, `{"tags":1}`, `{"title":"\ud800"}`,
		"{\"title\":\"\xff\"}", `{"pri\u0063e":1}`, `{"active":1}`, `{`, `{"title`, `{"title":`, `{"title":"`,
		`{"title":"\"`, `{"tags":[`, `{"id":1`, ``} {
		require.False(t, decodeFast(stored, new(Item)), "%s", stored)
	}
	var i Item
	require.NoError(t, DecodeStored(`{"title": "a", "food_type": 1, "price": null, "unknown": 1}`, &i))
	require.Equal(t, Item{Title: "a", FoodType: "1"}, i)
	require.Error(t, DecodeStored(`{"title":1}`, &i))
	var c Category
	require.NoError(t, DecodeStored(`{"id":4,"name":"Hot"}`, &c))
	require.Equal(t, Category{Ref: Ref{ID: 4}, Name: "Hot"}, c)
}

func FuzzDecodeStored(f *testing.F) {
	for _, v := range fastTypes() {
		stored, err := json.Marshal(v)
		require.NoError(f, err)
		f.Add(string(stored))
	}
	f.Add(`{"title":"\u00e9\\\"","tags":{"default":["a"]},"id":-0,"price":-1.50e1}`)
	f.Add(`{"title":"a","title":"b","weight":1,"weight":null,"images":[ {"tag" : "]"} ]}`)
	f.Fuzz(func(t *testing.T, stored string) {
		for _, v := range fastTypes() {
			want, got := reflect.New(reflect.TypeOf(v).Elem()).Interface(),
				reflect.New(reflect.TypeOf(v).Elem()).Interface()
			err := json.Unmarshal([]byte(stored), want, jsontext.AllowDuplicateNames(true),
				jsontext.AllowInvalidUTF8(true))
			// the database would reject anything else
			if failure := DecodeStored(stored, got); err == nil {
				require.NoError(t, failure)
				require.Equal(t, want, got)
			}
		}
	})
}
