// Package reference is the page at /docs: the description of the interface as a
// page to read, made on the server and in need of no script.
package reference

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/ui"
)

// Path is where the page is.
const Path = "/docs"

// Config is what the page is made of.
type Config struct {
	OpenAPI []byte    // the document as JSON; required
	BaseURL string    // that the commands on the page call, without a slash at its end
	Links   []ui.Link // of the top bar
}

// Reference serves the page, which is made once.
type Reference struct {
	page, packed []byte
	tag          string
}

// New makes the page. It fails on a document that is not JSON or refers to what
// is not in it.
func New(config Config) (*Reference, error) {
	var d document
	if err := json.Unmarshal(config.OpenAPI, &d); err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	v, err := makeView(&d, config.BaseURL, ui.Page{Title: "Reference", Links: config.Links, Active: Path})
	if err != nil {
		return nil, fmt.Errorf("reading the interface description: %w", err)
	}
	page, err := ui.Render(context.Background(), shown(v))
	if err != nil {
		return nil, fmt.Errorf("rendering the reference: %w", err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(page); err != nil {
		return nil, fmt.Errorf("packing the reference: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing the reference: %w", err)
	}
	sum := sha256.Sum256(page)
	return &Reference{page, packed.Bytes(), `W/"` + hex.EncodeToString(sum[:8]) + `"`}, nil
}

// Mount serves the page at Path.
func (r *Reference) Mount(router fiber.Router) {
	router.Get(Path, func(c *fiber.Ctx) error {
		ui.Secure(c)
		c.Set(fiber.HeaderETag, r.tag)
		c.Set(fiber.HeaderCacheControl, "no-cache")
		c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		if strings.Contains(c.Get(fiber.HeaderIfNoneMatch), r.tag) {
			return c.SendStatus(http.StatusNotModified)
		}
		if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
			c.Set(fiber.HeaderContentEncoding, "gzip")
			return c.Send(r.packed)
		}
		return c.Send(r.page)
	})
}
