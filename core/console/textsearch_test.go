package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
)

// searchOf returns a search in the numbers below all. A batch takes the time for each row.
func searchOf(all int, perRow time.Duration, matches func(int) bool) console.TextSearch[int] {
	next, now := 0, time.Unix(0, 0)
	return console.TextSearch[int]{Text: "Naan", Limit: 50, Now: func() time.Time { return now },
		Next: func(_ context.Context, limit int) (rows []int, err error) {
			for ; next < all && len(rows) < limit; next++ {
				rows = append(rows, next)
			}
			return rows, nil
		},
		Texts: func(_ context.Context, rows []int, visit func(int, []byte)) error {
			for i, row := range rows {
				now = now.Add(perRow)
				if matches(row) {
					visit(i, []byte(`{"title":"Garlic NAAN"}`))
				}
				visit(i, []byte("{}"))
			}
			return nil
		}}
}

func TestTextSearchStopsAtEachBound(t *testing.T) {
	none := func(int) bool { return false }
	found, p, err := searchOf(90, 0, func(row int) bool { return row%40 == 3 }).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{3, 43, 83}, found)
	assert.Equal(t, console.SearchProgress[int]{Searched: 90, Last: 89, Done: true}, p)

	_, p, err = searchOf(1_000_000, 0, none).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, console.SearchProgress[int]{Searched: console.MaxSearchRows, Last: console.MaxSearchRows - 1}, p)

	found, p, err = searchOf(1_000_000, 0, func(int) bool { return true }).Run(t.Context())
	require.NoError(t, err)
	assert.Len(t, found, 50)
	assert.Equal(t, console.SearchProgress[int]{Searched: 50, Last: 49}, p, "it continues after the last match")
}

func TestSlowTextSearchMakesProgress(t *testing.T) {
	none := func(int) bool { return false }
	_, p, err := searchOf(1000, time.Second, none).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 20, p.Searched, "one batch, though it is slow")
	assert.False(t, p.Done)
	_, p, err = searchOf(1_000_000, 5*time.Millisecond, none).Run(t.Context())
	require.NoError(t, err)
	assert.Less(t, p.Searched, 200, "it stops in time")
	assert.Greater(t, p.Searched, 100)
}

func TestTextMatcherIgnoresCaseAndEscapes(t *testing.T) {
	for text, in := range map[string]string{"NAAN": "garlic naan", `12" pizza`: `{"title":"12\" Pizza"}`,
		"crème": "CRÈME", "503 Service": "<h1>503 service unavailable</h1>"} {
		assert.True(t, console.NewTextMatcher(text).In([]byte(in)), text)
	}
	assert.False(t, console.NewTextMatcher("naan").In(nil))
	assert.False(t, console.NewTextMatcher("naan").In([]byte("nan")))
	_, err := console.CheckSearchText(strings.Repeat("x", 201))
	assert.ErrorContains(t, err, "at most 200 bytes")
}
