package reference

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func urls(found []entry) (list []string) {
	for _, each := range found {
		list = append(list, each.URL)
	}
	return list
}

func TestSearchPrefersTitlesAndNeedsEveryWord(t *testing.T) {
	entries := []entry{
		{Title: "Menus", URL: "text", Words: words("A webhook is sent, and retried.")},
		{Title: "Retry a webhook", URL: "title"},
		{Title: "Webhooks", URL: "prefix", Within: "Retries"},
	}
	for query, want := range map[string][]string{
		"webhook":       {"title", "prefix", "text"},
		"WEBHOOK retry": {"title"},
		"retr":          {"title", "prefix", "text"},
		"retried":       {"text"},
		"hook":          nil,
		"":              nil,
		"a is":          nil,
		"<script>":      nil,
	} {
		require.Equal(t, want, urls(find(searchables(entries), query)), query)
	}
}

func TestSearchCountsTenDistinctWords(t *testing.T) {
	require.Equal(t, []string{"menu", "a"}, terms(strings.Repeat("Menu a ", 100)))
	require.Equal(t, strings.Fields("1 2 3 4 5 6 7 8 9 10"), terms("1 2 3 4 5 6 7 8 9 10 11"))
	entries := searchables([]entry{
		{Title: "Menus of stores", URL: "title", Words: "webhook"},
		{Title: "Webhook", URL: "word", Words: "menus"},
	})
	require.Equal(t, []string{"title", "word"}, urls(find(entries, "menus webhook webhook")))
	require.Equal(t, []string{"title"}, urls(find(entries, "stores "+strings.Repeat("menus ", 20))))
	script, err := os.ReadFile("../assets/js/search.js")
	require.NoError(t, err)
	require.Contains(t, string(script), fmt.Sprintf("const maxTerms = %d;", maxTerms))
	require.Contains(t, string(script), "[...new Set(tokens(query))].slice(0, maxTerms)")
}

func TestIndexWordsAreUniqueWithoutStopWords(t *testing.T) {
	require.Equal(t, "café hub menu ref_id sends", words("The hub: `ref_id`, a Menu, X", "It sends the café a menu."))
}

func TestEveryGuideSectionIsIndexed(t *testing.T) {
	g := guide{name: "a", title: "A", text: "Zero.\n\n## Same `x`\n\nTwo.\n\n```\n## code\n```\n\n" +
		"### Same x\n\nThree [four](/docs/five)."}
	require.Equal(t, []entry{
		{Title: "A", URL: "/docs/a", Words: "zero"},
		{Title: "Same x", Within: "A", URL: "/docs/a#same-x", Words: "two"},
		{Title: "Same x", Within: "A", URL: "/docs/a#same-x-2", Words: "four three"},
	}, g.entries())
}
