// Package ui holds what all pages share: the layout, the components, and the
// rendering with its security headers. Components know nothing of a database.
package ui

import (
	"bytes"
	"context"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
)

// Page is what the layout needs to know of a page.
type Page struct {
	Title  string
	Home   string // where the name of the hub leads; "" is /docs
	Links  []Link // of the top bar
	Active string // the Href of the link to this page

	SearchPath  string // of the page of results; "" shows no search
	SearchIndex string // where the index of the search is
	Query       string // what was searched for
}

func (p Page) home() string {
	if p.Home == "" {
		return "/docs"
	}
	return p.Home
}

// Link is an address with its words.
type Link struct{ Href, Label string }

// ContentSecurityPolicy lets a page load scripts, styles and images from the
// hub alone, and nothing that stands inline.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
	"'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Write renders a component as the answer. It renders into memory first: when
// that fails nothing has been sent, and the error can still become a 500.
func Write(c *fiber.Ctx, status int, component templ.Component) error {
	// What is known is shown, also when the time of the request is over by now.
	page, err := Render(context.WithoutCancel(c.UserContext()), component)
	if err != nil {
		return err
	}
	Secure(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(status).Send(page)
}

// Render is the component as HTML.
func Render(ctx context.Context, component templ.Component) ([]byte, error) {
	var page bytes.Buffer
	if err := component.Render(ctx, &page); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// Secure sets the headers that every HTML page carries.
func Secure(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, ContentSecurityPolicy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
}
