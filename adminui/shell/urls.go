package shell

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
)

func format(pattern string, values ...any) string { return fmt.Sprintf(pattern, values...) }

// isConsoleURL tells whether an address is a page of this console on this host.
func isConsoleURL(c *fiber.Ctx, address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host == string(c.Request().Host()) && strings.HasPrefix(u.Path, Root)
}

// refererPath is the page of this console that a form was on, or the first page: as it is
// without what was done before.
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

// LocalPath is the path to go on to after signing in: a page of the console, or
// its first page where the address is anything else.
func LocalPath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, Root) || strings.Contains(address, `\`) {
		return Root
	}
	return u.RequestURI()
}

// current tells whether a line of the navigation is about this page.
func (v *PageContext) current(href string) bool {
	if href == Root || href == v.Link("") {
		return v.Path == href
	}
	return strings.HasPrefix(v.Path, href)
}

// liveURL is where the page hears of changes: of one business, else nowhere.
func (v *PageContext) liveURL() string {
	if v.Business.ID == 0 {
		return ""
	}
	return LivePath + fmt.Sprint(v.Business.ID) + "/"
}

// selfURL is the page's own address.
func (v *PageContext) selfURL() string { return v.urlWith("done", "") }

// htmxConfig is how htmx is to behave (its meta element htmx-config).
const htmxConfig = `{"includeIndicatorCSS":false,"history":false,"extensions":"sse",` +
	`"morphIgnore":["data-htmx-powered","open"],"noSwap":[204,304,"4xx","5xx"]}`

// initial stands for a user in the bar.
func initial(email string) string {
	for _, r := range email {
		return strings.ToUpper(string(r))
	}
	return "?"
}

// ThemeOf is the appearance that the visitor chose, for pages before signing in.
func ThemeOf(c *fiber.Ctx) string { return theme(c) }

// themes are the appearances to choose from, by their values.
var themes = [][2]string{{"", text.ThemeSystem}, {"light", text.ThemeLight}, {"dark", text.ThemeDark}}
