package reference

import (
	"fmt"
	"html"
	"strings"

	"github.com/servery-hub/servery/adminui/ui"
)

// heading is a heading of a page: of a section at level 2, of a part of it at level 3.
type heading struct {
	level    int
	id, text string
}

// outline gathers the headings of a text. Of two that read the same, the second has the id slug-2.
type outline []heading

// next adds the heading that a line of Markdown is.
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

// html is the heading with a link to itself.
func (h heading) html() string {
	return fmt.Sprintf(`<h%d id="%s">%s%s</h%[1]d>`, h.level, h.id, inline(h.text), anchor(h.id, h.text))
}

// anchor is the visible link of a heading to itself.
func anchor(id, title string) string {
	label := html.EscapeString("Link to " + plainText(title))
	return fmt.Sprintf(` <a class="anchor" href="#%s" aria-label="%s">#</a>`, id, label)
}

// headings lists the headings of a text.
func headings(text string) outline {
	var o outline
	for _, line := range strings.Split(outsideFences(text), "\n") {
		if headingLine.MatchString(line) {
			o.next(line)
		}
	}
	return o
}

// lines are the headings for the navigation of a page.
func (o outline) lines() []ui.Line {
	lines := make([]ui.Line, len(o))
	for i, h := range o {
		lines[i] = ui.Line{Href: "#" + h.id, Label: plainText(h.text), Deep: h.level > 2}
	}
	return lines
}

// plainText is a line of Markdown without its markup.
func plainText(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}
