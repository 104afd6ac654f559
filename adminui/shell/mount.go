package shell

import (
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Mount adds the routes of all pages, each with its guard.
func (s *Shell) Mount(router fiber.Router) {
	shown := map[string]bool{}
	for _, page := range s.Pages {
		for _, r := range page.Public {
			if r.Method != fiber.MethodGet {
				r.Handle = s.publicForm(r.Handle)
			}
			router.Add(r.Method, r.Path, r.Handle)
		}
		for _, r := range page.Routes {
			shown[r.Path] = shown[r.Path] || r.Method == fiber.MethodGet
		}
	}
	for _, page := range s.Pages {
		for _, r := range page.Routes {
			s.mount(router, s.withViews(page, r), shown)
		}
	}
	router.Get(Root+"*", s.guardPage(access.Viewer, func(*fiber.Ctx, *PageContext) error {
		return core.Errorf(core.NotFound, "there is no such page")
	}))
}

func (s *Shell) mount(router fiber.Router, r Route, shown map[string]bool) {
	if r.Method == fiber.MethodGet {
		router.Get(r.Path, s.guardPage(r.Role, s.withSlot(r)))
		return
	}
	router.Add(r.Method, r.Path, s.guardForm(r.Role, r.Handle))
	if !shown[r.Path] {
		router.Get(r.Path, s.guardPage(access.Viewer, redirectToPage(r.Path, shown)))
	}
}

// redirectToPage redirects from the URL of a form to the nearest page above it. A browser gets there after sign-in or
// by a reload.
func redirectToPage(form string, shown map[string]bool) Handler {
	levels := 0
	for ; !shown[form]; levels++ {
		form = path.Dir(strings.TrimSuffix(form, "/")) + "/"
	}
	return func(c *fiber.Ctx, _ *PageContext) error {
		page := c.Path()
		for range levels {
			page = path.Dir(strings.TrimSuffix(page, "/")) + "/"
		}
		return c.Redirect(page, fiber.StatusSeeOther)
	}
}
