// Package reference serves the API reference, generated from the OpenAPI document, the guides, and a Postman
// collection.
package reference

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/a-h/templ"
	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/ui"
)

// Path is the path of the reference. Guides are below it.
const Path = "/docs"

// PostmanPath is the path of the Postman collection.
const PostmanPath = Path + "/postman.json"

// Config configures the pages.
type Config struct {
	OpenAPI []byte    // OpenAPI document as JSON; required
	BaseURL string    // in commands on the pages, without a trailing slash
	Links   []ui.Link // in the top bar
}

// Reference is the rendered pages.
type Reference struct {
	pages   map[string]staticPage
	entries []entry // of the search
	results func(query string) templ.Component
}

// New renders the pages. It fails if the document is not JSON or has unresolved references.
func New(config Config) (*Reference, error) {
	var d document
	if err := json.Unmarshal(config.OpenAPI, &d); err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	guides, err := readGuides(config.BaseURL)
	if err != nil {
		return nil, err
	}
	page := ui.Page{Title: "Reference", Links: config.Links, Active: Path, SearchPath: SearchPath}
	v, err := newView(&d, config.BaseURL, page, guides)
	if err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	r := &Reference{pages: map[string]staticPage{}, entries: v.entries()}
	for _, g := range guides {
		r.entries = append(r.entries, g.entries()...)
	}
	if err := r.addIndex(&page); err != nil {
		return nil, err
	}
	v.page = page
	if err := r.addPages(v, guides, page); err != nil {
		return nil, err
	}
	collection, err := postmanCollection(&d, config.BaseURL)
	return r, r.add(PostmanPath, fiber.MIMEApplicationJSON, collection, err)
}

// add stores a rendered page. It returns err with the path of the page.
func (r *Reference) add(path, media string, body []byte, err error) error {
	if err == nil {
		r.pages[path], err = newStaticPage(media, body)
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	return nil
}

// addIndex adds the search index under a hash of its content, so that browsers cache it permanently.
func (r *Reference) addIndex(page *ui.Page) error {
	index, err := json.Marshal(r.entries)
	if err != nil {
		return fmt.Errorf("building the search index: %w", err)
	}
	sum := sha256.Sum256(index)
	page.SearchIndex = fmt.Sprintf("%s/search-%x.json", Path, sum[:6])
	err = r.add(page.SearchIndex, fiber.MIMEApplicationJSON, index, nil)
	stored := r.pages[page.SearchIndex]
	stored.immutable = true
	r.pages[page.SearchIndex] = stored
	return err
}

// addPages renders the reference, the guides and the search results.
func (r *Reference) addPages(v *view, guides []guide, page ui.Page) error {
	body, err := ui.Render(context.Background(), referencePage(v))
	if err := r.add(Path, fiber.MIMETextHTMLCharsetUTF8, body, err); err != nil {
		return err
	}
	for i, g := range guides {
		body, err := renderGuide(page, guides, i)
		if err := r.add(g.path(), fiber.MIMETextHTMLCharsetUTF8, body, err); err != nil {
			return err
		}
	}
	entries := searchables(r.entries)
	r.results = func(query string) templ.Component {
		page.Title, page.Query = "Search", query
		contents := append([]ui.Section{{Lines: []ui.Line{{Href: Path, Label: "API reference"}}}},
			guideSections(guides)...)
		return resultsPage(page, contents, find(entries, query))
	}
	return nil
}

// maxQuery is the maximum length of a query in bytes.
const maxQuery = 200

// search renders the results of a query.
func (r *Reference) search(c *fiber.Ctx) error {
	query := strings.Clone(c.Query("q"))
	query = strings.ToValidUTF8(query[:min(len(query), maxQuery)], "")
	return ui.Write(c, fiber.StatusOK, r.results(strings.TrimSpace(query)))
}

// Mount serves the pages at Path and below. It renders them on the first request, because that takes too long for
// startup.
func Mount(router fiber.Router, pages func() (*Reference, error)) {
	pages = sync.OnceValues(pages)
	for from, to := range movedGuides {
		router.Get(Path+"/"+from, func(c *fiber.Ctx) error {
			return c.Redirect(Path+"/"+to, fiber.StatusMovedPermanently)
		})
	}
	send := func(c *fiber.Ctx) error {
		r, err := pages()
		if err != nil {
			return err
		}
		path := strings.TrimSuffix(c.Path(), "/")
		if path == SearchPath {
			return r.search(c)
		}
		if page, found := r.pages[path]; found {
			return page.send(c)
		}
		return c.Next()
	}
	router.Get(Path, send)
	router.Get(Path+"/:name", send)
}
