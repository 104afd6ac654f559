package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/adminui/text"
)

// signed formats a Diff as text.
func signed(d Diff) (text string) {
	for _, line := range d.Lines {
		text += line.Sign + strings.TrimSpace(line.Text) + "|"
	}
	return text
}

func TestDiffComparesJSONMembers(t *testing.T) {
	for _, row := range []struct{ before, after, want string }{
		{`{"a":1,"b":2}`, `{"b":2, "a":1}`, ""},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, ` {| "a": 1,|-"b": 2|+"b": 3| }|`},
		{`{"price":9.50}`, `{"price":9.5}`, ` {|-"price": 9.50|+"price": 9.5| }|`},
		{`[1]`, `[1,2]`, ` [|-1|+1,|+2| ]|`},
		{"plain", "other", "-plain|+other|"},
		{"", `{}`, "-|+{}|"},
		{`[1,2,3,4,5,6,7,8,9,10]`, `[1,2,3,4,5,6,7,8,9,11]`, `…| 7,| 8,| 9,|-10|+11| ]|`},
	} {
		assert.Equal(t, row.want, signed(Compare(Diff{}, []byte(row.before), []byte(row.after))), row)
	}
}

func TestDiffIsBounded(t *testing.T) {
	assert.Equal(t, text.DiffTooLarge, Compare(Diff{}, make([]byte, diffSize+1), nil).Problem)
	some := strings.Repeat("a\n", diffEdits)
	assert.Equal(t, text.DiffTooMany,
		Compare(Diff{}, []byte(some), []byte(strings.Repeat("b\n", diffEdits))).Problem)
	d := Compare(Diff{}, []byte(strings.Repeat("x", 5000)), nil)
	require.Empty(t, d.Problem)
	assert.Len(t, d.Lines[0].Text, diffWidth+len("…"))
}

func TestDiffTransformsOneTextIntoTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c"})
		a, b := rapid.SliceOfN(line, 0, 40).Draw(t, "a"), rapid.SliceOfN(line, 0, 40).Draw(t, "b")
		edits, ok := editScript(a, b)
		require.True(t, ok)
		var before, after []string
		for _, e := range edits {
			if e.Sign != "+" {
				before = append(before, e.Text)
			}
			if e.Sign != "-" {
				after = append(after, e.Text)
			}
		}
		require.Equal(t, strings.Join(a, ""), strings.Join(before, ""))
		require.Equal(t, strings.Join(b, ""), strings.Join(after, ""))
	})
}
