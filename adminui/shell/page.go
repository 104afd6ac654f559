package shell

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/access"
)

// BusinessPath is the root of the pages of a business.
const BusinessPath = Root + "b/:business/"

// Page describes a page of the console and the pages and forms below it. Routing,
// navigation, links from the audit trail and the tests of all pages derive from it.
type Page struct {
	Path   string // its address
	Label  string // in the navigation; "" where it is not listed
	Routes []Route
	Public []PublicRoute
	// Object is the kind of objects in the audit trail, such as webhook in webhook/7,
	// whose pages are below Path by their ids; "" for none.
	Object string
	Done   map[string]string // messages after an action, by the keyword that Then puts into the address
}

// Route is an address of a page, and who may use it.
type Route struct {
	Method, Path string
	Role         access.Role // the least
	Handle       Handler
}

// PublicRoute is an address that everybody may use, before signing in.
type PublicRoute struct {
	Method, Path string
	Handle       fiber.Handler
}

// Get is a route that shows something.
func Get(path string, least access.Role, handle Handler) Route {
	return Route{Method: fiber.MethodGet, Path: path, Role: least, Handle: handle}
}

// Post is the route of a form, which changes something.
func Post(path string, least access.Role, handle Handler) Route {
	return Route{Method: fiber.MethodPost, Path: path, Role: least, Handle: handle}
}

// Page describes what belongs to all pages: the theme and live updates.
func (s *Shell) Page() Page {
	return Page{Path: Root, Routes: []Route{
		Post(ThemePath, access.Viewer, SetTheme),
		Get(LivePath+":business/", access.Viewer, s.Live.Stream),
	}}
}

// inBusiness returns the address of the page below that of a business, where it is one of a business.
func (p Page) inBusiness() (path string, ok bool) { return strings.CutPrefix(p.Path, BusinessPath) }

// visibleTo reports whether a role may see the page itself.
func (p Page) visibleTo(role access.Role) bool {
	for _, r := range p.Routes {
		if r.Method == fiber.MethodGet && r.Path == p.Path {
			return role.AtLeast(r.Role)
		}
	}
	return false
}

// navigation are the pages that the visitor can go to from anywhere.
func (v *PageContext) navigation() []ui.Section {
	var hub, business []ui.Line
	for _, page := range v.shell.Pages {
		if page.Label == "" || !page.visibleTo(v.User.Role) {
			continue
		}
		if path, ok := page.inBusiness(); ok {
			business = append(business, ui.Line{Href: v.Link(path), Label: page.Label})
		} else {
			hub = append(hub, ui.Line{Href: page.Path, Label: page.Label})
		}
	}
	sections := []ui.Section{{Title: text.Hub, Lines: hub}}
	if v.Business.ID != 0 {
		sections = append(sections, ui.Section{Title: v.Business.Name, Lines: business})
	}
	return sections
}

// ObjectLink is the address of the page of an object of the audit trail, such as
// webhook/7; "" where it has none.
func (v *PageContext) ObjectLink(object string) string {
	kind, id, _ := strings.Cut(object, "/")
	for _, page := range v.shell.Pages {
		path, ok := page.inBusiness()
		switch {
		case page.Object == "" || page.Object != kind || ok != (v.Business.ID != 0):
			continue
		case ok:
			return v.Link(path) + id + "/"
		default:
			return page.Path + id + "/"
		}
	}
	return ""
}

// doneMessage is what a page says after an action, by the keyword in its address.
func (s *Shell) doneMessage(keyword string) string {
	for _, page := range s.Pages {
		if message := page.Done[keyword]; message != "" {
			return message
		}
	}
	return ""
}
