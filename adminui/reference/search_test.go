package reference

import (
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
		require.Equal(t, want, urls(find(entries, query)), query)
	}
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
