package hub

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/adminui/reference"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/web"
)

// mountPages serves the reference and, for a demo, the webhook receiver. The parameter base is the hub's URL in the
// examples.
func (h *Hub) mountPages(base string, demo core.BusinessID) {
	links := []ui.Link{{Href: reference.Path, Label: "Docs"}}
	if h.console != nil {
		links = append(links, ui.Link{Href: shell.Root, Label: "Console"})
	}
	if demo != 0 {
		links = append(links, ui.Link{Href: receiver.Path, Label: "Receiver"})
	}
	app := h.server.App
	assets.Mount(app)
	if h.console != nil {
		h.console.Mount(app)
	}
	reference.Mount(app, func() (*reference.Reference, error) {
		return reference.New(reference.Config{OpenAPI: web.OpenAPI(), BaseURL: base, Links: links})
	})
	app.Get("/", func(c *fiber.Ctx) error { return c.Redirect(reference.Path, http.StatusFound) })
	if demo != 0 {
		receiver.New(receiver.Config{
			Secrets: h.signingSecrets(demo), Memory: h.config.Memory, Proxies: h.config.Identity.Proxies,
			Clock: h.db.Clock(), BaseURL: base, Links: links,
		}).Mount(app)
	}
}

// signingSecrets reads the signing secrets of a business's webhooks, by display name.
func (h *Hub) signingSecrets(business core.BusinessID) receiver.Secrets {
	return func(ctx context.Context) (map[string]string, error) {
		subscriptions, _, err := webhooksdb.New(h.db).List(ctx, business, 200, 0)
		if err != nil {
			return nil, err
		}
		callback, err := access.New(h.db).CallbackSecret(ctx, business)
		if err != nil {
			return nil, err
		}
		secrets := map[string]string{"the business, for callback_url": callback}
		for _, sub := range subscriptions {
			secrets[fmt.Sprintf("webhook %d", sub.ID)] = sub.Secret
		}
		return secrets, nil
	}
}
