package reference

import (
	"embed"
	"html"
	"regexp"
	"strings"
)

//go:embed guides/*.svg
var figureFiles embed.FS

// figureLine matches a line with only a drawing: ![caption](name.svg).
var figureLine = regexp.MustCompile(`^!\[([^\]]+)\]\(([a-z-]+\.svg)\)$`)

// figure inlines a drawing, so that it uses the colours of the page. It reports whether the drawing exists.
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
