// Package ui has what all pages share: the layout, the components, and rendering with security headers. Components use
// no database.
package ui

import (
	"bytes"
	"context"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
)

// Page is the data of the layout.
type Page struct {
	Title  string
	Home   string // link of the name of the hub; "": /docs
	Links  []Link // of the top bar
	Active string // Href of the link to this page

	SearchPath  string // of the result page; "": no search field
	SearchIndex string // URL of the search index
	Query       string // the searched text
}

func (p Page) home() string {
	if p.Home == "" {
		return "/docs"
	}
	return p.Home
}

// Link is a URL with its label.
type Link struct{ Href, Label string }

// ContentSecurityPolicy allows scripts, styles and images from the hub only, and nothing inline.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
	"'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Write renders a component and sends it. It renders into memory first, so that an error can still become a 500.
func Write(c *fiber.Ctx, status int, component templ.Component) error {
	// The page is sent even after the deadline of the request.
	page, err := Render(context.WithoutCancel(c.UserContext()), component)
	if err != nil {
		return err
	}
	Secure(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(status).Send(page)
}

// Render returns a component as HTML.
func Render(ctx context.Context, component templ.Component) ([]byte, error) {
	var page bytes.Buffer
	if err := component.Render(ctx, &page); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// Secure sets the headers of every HTML page.
func Secure(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, ContentSecurityPolicy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
}
