package reference

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/adminui/ui"
)

// view is the view model of the reference.
type view struct {
	page      ui.Page
	title     string
	summary   string
	intro     string
	contents  []ui.Section
	guides    []chapter
	groups    []chapter
	responses []responseView // shared by operations
}

// chapter is a tag with its operations.
type chapter struct {
	id, title, text string
	operations      []operationView
}

// operationView is the view model of an operation.
type operationView struct {
	id, method, path     string
	summary, description string
	callback             bool
	facts                []fact
	tables               []table
	requests             []example
	responses            []responseView
}

type fact struct{ name, text string }

type table struct {
	id, title string
	fields    []field
}

// responseView is the view model of a response. A shared one has only its name and a link.
type responseView struct {
	id, status, name, text string
	shared                 bool
	tables                 []table
	examples               []example
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug converts a name to an element id.
func slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// newView builds the view model of a document.
func newView(d *document, base string, page ui.Page, guides []guide) (*view, error) {
	v := &view{page: page, title: d.Info.Title, summary: d.Info.Summary, intro: d.Info.Description}
	byTag := map[string][]operationView{}
	for _, set := range []struct {
		paths    orderedMap[pathItem]
		callback bool
	}{{d.Paths, false}, {d.Webhooks, true}} {
		for _, path := range set.paths {
			for _, each := range path.value.operations() {
				view, err := d.describe(each, path, base, set.callback)
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", each.method, path.name, err)
				}
				for _, name := range each.Tags {
					byTag[name] = append(byTag[name], view)
				}
			}
		}
	}
	for _, tag := range d.Tags {
		c := chapter{slug(tag.Name), tag.Name, tag.Description, byTag[tag.Name]}
		if len(c.operations) == 0 {
			v.guides = append(v.guides, c)
		} else {
			v.groups = append(v.groups, c)
		}
	}
	for _, each := range d.Components.Responses {
		view, err := d.describeResponse("answer-"+slug(each.name), "", each.value)
		if err != nil {
			return nil, fmt.Errorf("response %s: %w", each.name, err)
		}
		view.name, view.status = each.name, d.statusOf(each.name)
		v.responses = append(v.responses, view)
	}
	v.addContents(guides)
	return v, nil
}

// addContents adds the side navigation.
func (v *view) addContents(guides []guide) {
	basics := ui.Section{Title: "Basics", Lines: []ui.Line{{Href: "#introduction", Label: "Introduction"}}}
	for _, chapter := range v.guides {
		basics.Lines = append(basics.Lines, ui.Line{Href: "#" + chapter.id, Label: chapter.title})
	}
	v.contents = append(guideSections(guides), basics)
	for _, group := range v.groups {
		section := ui.Section{Title: group.title}
		for _, each := range group.operations {
			section.Lines = append(section.Lines,
				ui.Line{Href: "#" + each.id, Label: each.summary, Method: each.method})
		}
		v.contents = append(v.contents, section)
	}
	v.contents = append(v.contents, ui.Section{Title: "More", Lines: []ui.Line{
		{Href: "#answers", Label: "Shared answers"}, {Href: "/openapi.json", Label: "openapi.json"},
		{Href: PostmanPath, Label: "postman.json"},
	}})
}

// statusOf returns the status of a shared response. If no operation uses it, the status is found by its name.
func (d *document) statusOf(name string) string {
	for _, path := range d.Paths {
		for _, operation := range path.value.operations() {
			for _, each := range operation.Responses {
				if component(each.value.Ref) == name {
					return each.name
				}
			}
		}
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		if strings.ReplaceAll(http.StatusText(status), " ", "") == name {
			return strconv.Itoa(status)
		}
	}
	return ""
}
