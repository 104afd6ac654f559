package reference

import (
	"io/fs"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkdownTablesBecomeHTMLTables(t *testing.T) {
	const (
		head = `<table class="fields"><thead><tr><th scope="col">A</th>`
		body = `</tr></thead><tbody>`
		tail = `</tbody></table>`
	)
	for name, each := range map[string]struct{ text, want string }{
		"two columns": {
			"| A | B |\n|---|---|\n| `x` | y |\n",
			head + `<th scope="col">B</th>` + body +
				`<tr><th scope="row"><code>x</code></th><td data-label="B">y</td></tr>` + tail,
		},
		"bar in a cell": {"|A|\n|-|\n|x \\| y|", head + body + `<tr><th scope="row">x | y</th></tr>` + tail},
		"HTML is text": {
			"|A|\"|\n|-|-|\n|x|<b>|",
			head + `<th scope="col">&#34;</th>` + body +
				`<tr><th scope="row">x</th><td data-label="&#34;">&lt;b&gt;</td></tr>` + tail,
		},
		"cells beyond columns":  {"|A|\n|-|\n|x|y|", head + body + `<tr><th scope="row">x</th></tr>` + tail},
		"no rule below":         {"| A | B |", `<p>| A | B |</p>`},
		"text before and after": {"a\n|A|\n|-|\nb", `<p>a</p>` + head + body + tail + `<p>b</p>`},
	} {
		require.Equal(t, each.want, markdown(each.text), name)
	}
}

func TestFiguresAreInlinedAsSVG(t *testing.T) {
	page := markdown("![What \"it\" shows.](deliveries.svg)")
	require.Regexp(t, `^<figure class="figure-drawn"><svg role="img" aria-label="What &#34;it&#34; shows." xmlns=`,
		page)
	require.Equal(t, "<p>![A](absent.svg)</p>", markdown("![A](absent.svg)"))
}

func TestEveryGuideIsListedAndFullyRendered(t *testing.T) {
	files, err := fs.Glob(guideFiles, "guides/*.md")
	require.NoError(t, err)
	guides, err := readGuides("http://127.0.0.1:8080")
	require.NoError(t, err)
	require.Len(t, guides, len(files)+1, "the files, and the page of errors")
	code := regexp.MustCompile(`(?s)<pre[^>]*>.*?</pre>|<code>.*?</code>`)
	for _, guide := range guides {
		plain := code.ReplaceAllString(markdown(guide.text), "")
		for _, left := range []string{"](", "```", "<p>#", "<p>|", "**", "{retry_"} {
			require.NotContains(t, plain, left, guide.name)
		}
	}
}
