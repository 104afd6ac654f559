package shell

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
)

func format(pattern string, values ...any) string { return fmt.Sprintf(pattern, values...) }

// isConsoleURL reports whether a URL is a page of this console on this host.
func isConsoleURL(c *fiber.Ctx, address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host == string(c.Request().Host()) && strings.HasPrefix(u.Path, Root)
}

// refererPath returns the path of the console page that sent the form, without its done message, or Root.
func refererPath(c *fiber.Ctx) string {
	referer := string(c.Request().Header.Peek(fiber.HeaderReferer))
	u, err := url.Parse(referer)
	if err != nil || !isConsoleURL(c, referer) {
		return Root
	}
	query := u.Query()
	query.Del("done")
	u.RawQuery = query.Encode()
	return u.RequestURI()
}

// ListPath returns the path of a list with the filters of the page that sent the form, or without if that was another
// page.
func ListPath(c *fiber.Ctx, list string) string {
	if back := refererPath(c); strings.HasPrefix(back, list+"?") {
		return back
	}
	return list
}

// LocalPath returns the path of a console URL, for a redirect after sign-in. It returns Root for any other URL.
func LocalPath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, Root) || strings.Contains(address, `\`) {
		return Root
	}
	return u.RequestURI()
}

// current reports whether a navigation link leads to this page.
func (v *PageContext) current(href string) bool {
	if href == Root || href == v.Link("") {
		return v.Path == href
	}
	return strings.HasPrefix(v.Path, href)
}

// liveURL returns the URL of the change stream, or "" on pages of no business.
func (v *PageContext) liveURL() string {
	if v.Business.ID == 0 {
		return ""
	}
	return LivePath + fmt.Sprint(v.Business.ID) + "/"
}

// selfURL returns the URL of the page.
func (v *PageContext) selfURL() string { return v.urlWith("done", "") }

// htmxConfig is the content of the meta element htmx-config. Updates keep tabindex, which scripts set: without it an
// element would lose the focus.
const htmxConfig = `{"includeIndicatorCSS":false,"history":false,"extensions":"sse",` +
	`"morphIgnore":["data-htmx-powered","open","aria-expanded","tabindex"],"noSwap":[204,304,"4xx","5xx"]}`

// initial returns the letter of the account button.
func initial(email string) string {
	for _, r := range email {
		return strings.ToUpper(string(r))
	}
	return "?"
}
