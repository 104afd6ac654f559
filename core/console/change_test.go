package console

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFieldChangesCompareValueByValue(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []FieldChange
	}{
		"equal":               {`{"a":1,"b":[1,{"c":null}]}`, `{"b":[1,{"c":null}],"a":1.0}`, nil},
		"prices are decimals": {`{"price":9.50}`, `{"price":1.025e1}`, []FieldChange{{"price", "9.5", "10.25"}}},
		"nested": {`{"p":[{"platform":"web","price":1}]}`, `{"p":[{"platform":"web","price":2}]}`,
			[]FieldChange{{"p[0].price", "1", "2"}}},
		"lists of plain values":    {`{"tags":["a","b"]}`, `{"tags":["b"]}`, []FieldChange{{"tags", "a, b", "b"}}},
		"a list that is empty now": {`{"on":["web"]}`, `{"on":[]}`, []FieldChange{{"on", "web", "[]"}}},
		"added and removed values": {`{"a":true}`, `{"b":"x"}`, []FieldChange{{"a", "true", ""}, {"b", "", "x"}}},
		"created": {``, `{"title":"Dal","at":{"x":1}}`,
			[]FieldChange{{"at.x", "", "1"}, {"title", "", "Dal"}}},
		"invalid JSON is one value":   {`{"a":`, `{"a":1}`, []FieldChange{{"", `{"a":`, ""}, {"a", "", "1"}}},
		"a number beyond every price": {`{"n":1e400}`, `{}`, []FieldChange{{"", "", "{}"}, {"n", "1e400", ""}}},
		"another kind of value":       {`{"n":"1"}`, `{"n":{"m":1}}`, []FieldChange{{"n", "1", ""}, {"n.m", "", "1"}}},
		"an object in a list of words": {`{"l":["a",{"b":1}]}`, `{"l":["a"]}`,
			[]FieldChange{{"l", "", "a"}, {"l[0]", "a", ""}, {"l[1].b", "1", ""}}},
	} {
		require.Equal(t, c.want, FieldChanges([]byte(c.before), []byte(c.after)), name)
	}
}

func TestFieldChangesAreSymmetric(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{rapid.Int().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny()}
		if depth > 0 {
			kinds = append(kinds, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(),
				rapid.MapOfN(rapid.StringN(1, 2, 4), value(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	record := rapid.MapOfN(rapid.StringN(1, 2, 4), value(2), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		before, err := json.Marshal(record.Draw(t, "before"))
		require.NoError(t, err)
		after, err := json.Marshal(record.Draw(t, "after"))
		require.NoError(t, err)
		require.Empty(t, FieldChanges(before, before))
		forth, back := FieldChanges(before, after), FieldChanges(after, before)
		require.Len(t, back, len(forth))
		for i, change := range forth {
			require.Equal(t, FieldChange{change.Field, change.After, change.Before}, back[i])
		}
	})
}
