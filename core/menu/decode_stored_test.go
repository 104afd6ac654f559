package menu

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// fastTypes are the types that DecodeStored decodes itself, with every member.
func fastTypes() []any {
	return []any{filled[ItemValues](), filled[OptionValues](), filled[Item](), filled[OptionGroup](), filled[Option]()}
}

func TestDecodeStoredReadsEveryMember(t *testing.T) {
	for _, want := range fastTypes() {
		stored, err := json.Marshal(want)
		require.NoError(t, err)
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		require.True(t, decodeFast(string(stored), got), "%s", stored)
		require.Equal(t, want, got)
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
	require.Equal(t, Item{ItemDetails: ItemDetails{Title: "a", FoodType: "1"}}, i)
	require.Error(t, DecodeStored(`{"title":1}`, &i))
	var c Category
	require.NoError(t, DecodeStored(`{"id":4,"name":"Hot"}`, &c))
	require.Equal(t, Category{Ref: Ref{ID: 4}, CategoryDetails: CategoryDetails{Name: "Hot"}}, c)
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
