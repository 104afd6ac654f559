// Package reference serves what integrators read: the description of the
// interface, made from the OpenAPI document, guides, and a collection for Postman.
package reference

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/ui"
)

// Path is where the page is; the guides are below it.
const Path = "/docs"

// PostmanPath is where the collection for Postman is.
const PostmanPath = Path + "/postman.json"

// Config is what the page is made of.
type Config struct {
	OpenAPI []byte    // the document as JSON; required
	BaseURL string    // that the commands on the page call, without a slash at its end
	Links   []ui.Link // of the top bar
}

// Reference is the pages as they are served.
type Reference struct{ pages map[string]still }

// New makes the pages. It fails on a document that is not JSON or refers to what
// is not in it.
func New(config Config) (*Reference, error) {
	var d document
	if err := json.Unmarshal(config.OpenAPI, &d); err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	guides, err := readGuides(config.BaseURL)
	if err != nil {
		return nil, err
	}
	page := ui.Page{Title: "Reference", Links: config.Links, Active: Path}
	v, err := makeView(&d, config.BaseURL, page, guides)
	if err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	r := &Reference{map[string]still{}}
	add := func(path, media string, body []byte, err error) error {
		if err == nil {
			r.pages[path], err = newStill(media, body)
		}
		if err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
		return nil
	}
	body, err := ui.Render(context.Background(), shown(v))
	if err := add(Path, fiber.MIMETextHTMLCharsetUTF8, body, err); err != nil {
		return nil, err
	}
	for _, g := range guides {
		body, err := g.render(page, guides)
		if err := add(g.path(), fiber.MIMETextHTMLCharsetUTF8, body, err); err != nil {
			return nil, err
		}
	}
	body, err = postman(&d, config.BaseURL)
	return r, add(PostmanPath, fiber.MIMEApplicationJSON, body, err)
}

// Mount serves the pages at Path and below. They are made when one of them is first
// asked for: that takes a while, and a hub is to be ready at once.
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
		if page, there := r.pages[strings.TrimSuffix(c.Path(), "/")]; there {
			return page.send(c)
		}
		return c.Next()
	}
	router.Get(Path, send)
	router.Get(Path+"/:name", send)
}
