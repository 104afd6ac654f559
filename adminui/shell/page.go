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

// Page describes a page of the console, and the pages and forms below it. Routes, navigation, audit links and the tests
// of all pages derive from it.
type Page struct {
	Path   string // its URL
	Label  string // in the navigation; "": not listed
	Routes []Route
	Public []PublicRoute
	// Object is the kind of audit objects whose pages are below Path by id, such as webhook in webhook/7. It is "" if
	// there are none.
	Object string
	// Filters are those of the list at Path. Users save them as views. It is nil if the page is no such list.
	Filters *Filters
	Done    map[string]string // messages after an action, by the keyword of RedirectDone
}

// Route is a route of a page with the role that it requires.
type Route struct {
	Method, Path string
	Role         access.Role // the lowest allowed
	Handle       Handler
	noSlot       bool
}

// WithoutSlot returns the route of a page that holds no slot (Slots), because it waits for another server.
func (r Route) WithoutSlot() Route {
	r.noSlot = true
	return r
}

// PublicRoute is a route that requires no sign-in.
type PublicRoute struct {
	Method, Path string
	Handle       fiber.Handler
}

// Get returns a route that shows a page.
func Get(path string, least access.Role, handle Handler) Route {
	return Route{Method: fiber.MethodGet, Path: path, Role: least, Handle: handle}
}

// Post returns the route of a form.
func Post(path string, least access.Role, handle Handler) Route {
	return Route{Method: fiber.MethodPost, Path: path, Role: least, Handle: handle}
}

// Page returns the descriptor of the routes that belong to all pages: preferences and live updates.
func (s *Shell) Page() Page {
	return Page{Path: Root, Routes: []Route{
		themePreference.route(), zonePreference.route(), densityPreference.route(), keysPreference.route(),
		s.columnsRoute(),
		Get(LivePath+":business/", access.Viewer, s.Live.Stream),
	}, Done: map[string]string{"view-saved": text.ViewSaved, "view-deleted": text.ViewDeleted}}
}

// inBusiness returns the path below BusinessPath, if the page is one of a business.
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

// navigation returns the pages of the side navigation.
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

// ObjectLink returns the URL of the page of an audit object such as webhook/7, or "" if it has none.
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

// doneMessage returns the message after an action, by the keyword in the URL.
func (s *Shell) doneMessage(keyword string) string {
	for _, page := range s.Pages {
		if message := page.Done[keyword]; message != "" {
			return message
		}
	}
	return ""
}
