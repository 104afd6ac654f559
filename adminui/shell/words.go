package shell

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/access"
)

func format(pattern string, values ...any) string { return fmt.Sprintf(pattern, values...) }

// ours tells whether an address is a page of this console on this host.
func ours(c *fiber.Ctx, address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host == string(c.Request().Host()) && strings.HasPrefix(u.Path, Root)
}

// cameFrom is the page of this console that a form was on, or the first page: as it is
// without what was done before.
func cameFrom(c *fiber.Ctx) string {
	referer := string(c.Request().Header.Peek(fiber.HeaderReferer))
	u, err := url.Parse(referer)
	if err != nil || !ours(c, referer) {
		return Root
	}
	query := u.Query()
	query.Del("done")
	u.RawQuery = query.Encode()
	return u.RequestURI()
}

// Inside is the path to go on to after signing in: a page of the console, or
// its first page where the address is anything else.
func Inside(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, Root) || strings.Contains(address, `\`) {
		return Root
	}
	return u.RequestURI()
}

// navigation are the pages that the visitor can go to from anywhere.
func (v *Visit) navigation() []ui.Section {
	first := []ui.Line{{Href: Root, Label: text.Overview}, {Href: PluginsPath, Label: text.Plugins}}
	if v.User.Role == access.Admin {
		first = append(first, ui.Line{Href: UsersPath, Label: text.Users}, ui.Line{Href: AuditPath, Label: text.HubAudit})
	}
	sections := []ui.Section{{Title: text.Hub, Lines: first}}
	if v.Business.ID == 0 {
		return sections
	}
	lines := []ui.Line{}
	for _, page := range []ui.Line{
		{Label: text.Business}, {Href: "webhooks/", Label: text.Webhooks}, {Href: "deliveries/", Label: text.Deliveries},
		{Href: "orders/", Label: text.Orders}, {Href: "jobs/", Label: text.Jobs}, {Href: "stores/", Label: text.Stores}, {Href: "items/", Label: text.Items}, {Href: "history/", Label: text.History},
		{Href: "keys/", Label: text.Keys}, {Href: "settings/", Label: text.Settings}, {Href: "checklist/", Label: text.Checklist}, {Href: "sandbox/", Label: text.Sandbox}, {Href: "audit/", Label: text.Audit},
	} {
		lines = append(lines, ui.Line{Href: v.Link(page.Href), Label: page.Label})
	}
	return append(sections, ui.Section{Title: v.Business.Name, Lines: lines})
}

// current tells whether a line of the navigation is about this page.
func (v *Visit) current(href string) bool {
	if href == Root || href == v.Link("") {
		return v.Path == href
	}
	return strings.HasPrefix(v.Path, href)
}

// live is where the page hears of changes: of one business, else nowhere.
func (v *Visit) live() string {
	if v.Business.ID == 0 {
		return ""
	}
	return LivePath + fmt.Sprint(v.Business.ID) + "/"
}

// self is the page's own address.
func (v *Visit) self() string { return v.with("done", "") }

// behaviour is how htmx is to behave (its meta element htmx-config).
const behaviour = `{"includeIndicatorCSS":false,"history":false,"extensions":"sse","morphIgnore":["data-htmx-powered","open"],"noSwap":[204,304,"4xx","5xx"]}`

// initial stands for a user in the bar.
func initial(email string) string {
	for _, r := range email {
		return strings.ToUpper(string(r))
	}
	return "?"
}

// ThemeOf is the appearance that the visitor chose, for pages before signing in.
func ThemeOf(c *fiber.Ctx) string { return theme(c) }
