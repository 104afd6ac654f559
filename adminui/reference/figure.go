package reference

import (
	"embed"
	"html"
	"regexp"
	"strings"
)

//go:embed guides/*.svg
var figureFiles embed.FS

// figureLine names a drawing beside the guides, on a line of its own: ![what it shows](name.svg).
var figureLine = regexp.MustCompile(`^!\[([^\]]+)\]\(([a-z-]+\.svg)\)$`)

// figure writes a drawing into the page, so that it takes the page's colours.
// It reports whether there is such a drawing.
func (b *markdownWriter) figure(caption, name string) bool {
	drawing, err := figureFiles.ReadFile("guides/" + name)
	if err != nil {
		return false
	}
	label := `<svg role="img" aria-label="` + html.EscapeString(caption) + `"`
	b.out.WriteString(`<figure class="figure-drawn">` + strings.Replace(string(drawing), "<svg", label, 1) +
		"</figure>")
	return true
}
