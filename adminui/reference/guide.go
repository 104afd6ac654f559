package reference

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/a-h/templ"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/retry"
)

//go:embed guides/*.md
var guideFiles embed.FS

// guide is a page of text: a Markdown file with a title, or a page with its own body.
type guide struct {
	group, name, title string
	text               string // Markdown
	body               templ.Component
	headings           outline
}

func (g guide) path() string { return Path + "/" + g.name }

// guideGroups lists the guides in reading order.
var guideGroups = []struct {
	title string
	names []string
}{
	{"Start", []string{"first-sync", "concepts", "sandbox", "clients", "moving"}},
	{"Integrate", []string{"menus", "orders", "retries", "signatures", "riders", "actions"}},
	{"Operate", []string{"console", "data-protection", "configuration", "metrics", "plugins"}},
	{"Look up", []string{errorsPageName, "behaviour", "changes"}},
}

// movedGuides maps former guide names to current ones.
var movedGuides = map[string]string{"decisions": "behaviour"}

// readGuides reads all guides, with base as the URL in their commands.
func readGuides(base string) ([]guide, error) {
	var list []guide
	for _, group := range guideGroups {
		for _, name := range group.names {
			g, err := readGuide(name, base)
			if err != nil {
				return nil, err
			}
			g.group = group.title
			list = append(list, g)
		}
	}
	return list, nil
}

func readGuide(name, base string) (guide, error) {
	if name == errorsPageName {
		return errorsGuide(), nil
	}
	content, err := guideFiles.ReadFile("guides/" + name + ".md")
	if err != nil {
		return guide{}, fmt.Errorf("reading the guides: %w", err)
	}
	first, text, found := strings.Cut(string(bytes.TrimSpace(content)), "\n")
	title, titled := strings.CutPrefix(first, "# ")
	if !found || !titled {
		return guide{}, fmt.Errorf("the guide %s does not begin with its title", name)
	}
	text = retry.Documented().Replace(strings.ReplaceAll(text, "https://hub.example.com", base))
	return guide{name: name, title: title, text: text, body: prose(text), headings: headings(text)}, nil
}

// guideSections returns the guides as navigation sections.
func guideSections(guides []guide) []ui.Section {
	var sections []ui.Section
	for _, g := range guides {
		if len(sections) == 0 || sections[len(sections)-1].Title != g.group {
			sections = append(sections, ui.Section{Title: g.group})
		}
		last := &sections[len(sections)-1]
		last.Lines = append(last.Lines, ui.Line{Href: g.path(), Label: g.title})
	}
	return sections
}

// neighbours are the previous and the next guide. Both may be nil.
type neighbours struct{ before, after *guide }

func neighboursOf(guides []guide, at int) (s neighbours) {
	if at > 0 {
		s.before = &guides[at-1]
	}
	if at+1 < len(guides) {
		s.after = &guides[at+1]
	}
	return s
}

// renderGuide renders the guide at an index.
func renderGuide(page ui.Page, guides []guide, at int) ([]byte, error) {
	g := guides[at]
	page.Title = g.title
	sections := append([]ui.Section{{Lines: []ui.Line{{Href: Path, Label: "API reference"}}}}, guideSections(guides)...)
	for i := range sections {
		for j := range sections[i].Lines {
			sections[i].Lines[j].Current = sections[i].Lines[j].Href == g.path()
		}
	}
	on := ui.Section{Title: "On this page", Lines: g.headings.lines()}
	return ui.Render(context.Background(), guidePage(page, sections, on, g, neighboursOf(guides, at)))
}
