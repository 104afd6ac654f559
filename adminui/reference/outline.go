package reference

import (
	"fmt"
	"html"
	"strings"

	"github.com/servery-hub/servery/adminui/ui"
)

// heading is a heading of a page, at level 2 or 3.
type heading struct {
	level    int
	id, text string
}

// outline is the headings of a text. The second heading with an equal text gets the id slug-2.
type outline []heading

// next adds a heading line of Markdown.
func (o *outline) next(line string) heading {
	found := headingLine.FindStringSubmatch(line)
	h := heading{level: 2 + min(len(found[1]), 2), id: slug(found[2]), text: found[2]}
	same := 1
	for _, each := range *o {
		if slug(each.text) == h.id {
			same++
		}
	}
	if same > 1 {
		h.id += fmt.Sprintf("-%d", same)
	}
	*o = append(*o, h)
	return h
}

// html renders the heading with a link to itself.
func (h heading) html() string {
	return fmt.Sprintf(`<h%d id="%s">%s%s</h%[1]d>`, h.level, h.id, inline(h.text), anchor(h.id, h.text))
}

// anchor renders the link of a heading to itself.
func anchor(id, title string) string {
	label := html.EscapeString("Link to " + plainText(title))
	return fmt.Sprintf(` <a class="anchor" href="#%s" aria-label="%s">#</a>`, id, label)
}

// headings returns the headings of a text.
func headings(text string) outline {
	var o outline
	for _, line := range strings.Split(outsideFences(text), "\n") {
		if headingLine.MatchString(line) {
			o.next(line)
		}
	}
	return o
}

// lines returns the headings as navigation links.
func (o outline) lines() []ui.Line {
	lines := make([]ui.Line, len(o))
	for i, h := range o {
		lines[i] = ui.Line{Href: "#" + h.id, Label: plainText(h.text), Deep: h.level > 2}
	}
	return lines
}

// plainText removes the markup from a line of Markdown.
func plainText(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}
