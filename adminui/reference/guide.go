package reference

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/ui"
)

//go:embed guides/*.md
var guideFiles embed.FS

// guide is a page of text: a Markdown file that begins with its title.
type guide struct{ name, title, text string }

// path is where the guide is.
func (g guide) path() string { return Path + "/" + g.name }

// guideNames are the guides in the order in which they are best read.
var guideNames = []string{
	"first-sync", "concepts", "menus", "orders", "retries", "signatures", "riders", "actions", "clients", "plugins", "sandbox",
	"console", "configuration", "metrics", "behaviour", "changes",
}

// movedGuides maps the names of former guides to those that hold their content now.
var movedGuides = map[string]string{"decisions": "behaviour"}

// readGuides reads all guides, each with the hub's address in its commands.
func readGuides(base string) ([]guide, error) {
	var list []guide
	for _, name := range guideNames {
		content, err := guideFiles.ReadFile("guides/" + name + ".md")
		if err != nil {
			return nil, fmt.Errorf("reading the guides: %w", err)
		}
		heading, text, found := strings.Cut(string(bytes.TrimSpace(content)), "\n")
		title, titled := strings.CutPrefix(heading, "# ")
		if !found || !titled {
			return nil, fmt.Errorf("the guide %s does not begin with its title", name)
		}
		list = append(list, guide{name, title, strings.ReplaceAll(text, "https://hub.example.com", base)})
	}
	return list, nil
}

// guideLines are the guides for the side navigation.
func guideLines(guides []guide) (lines []ui.Line) {
	for _, g := range guides {
		lines = append(lines, ui.Line{Href: g.path(), Label: g.title})
	}
	return lines
}

// render makes the guide's page.
func (g guide) render(page ui.Page, guides []guide) ([]byte, error) {
	page.Title = g.title
	sections := []ui.Section{
		{Title: "Guides", Lines: append([]ui.Line{{Href: Path, Label: "Reference"}}, guideLines(guides)...)},
		{Title: "On this page"},
	}
	for _, heading := range headings(g.text) {
		sections[1].Lines = append(sections[1].Lines, ui.Line{Href: "#" + slug(heading), Label: heading})
	}
	if len(sections[1].Lines) == 0 {
		sections = sections[:1]
	}
	return ui.Render(context.Background(), guidePage(page, sections, g))
}
