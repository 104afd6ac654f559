package shell

import (
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
)

// Head is the top of a page.
type Head struct {
	Title   string
	Note    string  // beside the title
	Up      ui.Link // where the page belongs; zero: nowhere
	Causes  []ui.Cause
	Links   []ui.Link // to pages on which something is done
	Buttons []ui.Button
	Live    bool // the page is fetched again when something changes
}

// Show answers with a page in the frame, 200 unless another status was set.
func (v *Visit) Show(c *fiber.Ctx, head Head, body templ.Component) error {
	for i := range head.Buttons {
		head.Buttons[i].Token = v.Token()
	}
	for i := range head.Causes {
		if head.Causes[i].Button != nil {
			head.Causes[i].Button.Token = v.Token()
		}
	}
	return ui.Write(c, c.Response().StatusCode(), page(v, head, body))
}

// PageSize is how many rows a page of a list has; a file has up to maxCSV.
const (
	PageSize = 50
	maxCSV   = 10_000
)

// wantsCSV tells whether the list is asked for as a file.
func (v *Visit) wantsCSV() bool { return v.Query.Get("format") == "csv" }

// Limit is how many rows to read: one more than are shown, to know whether
// there are others.
func (v *Visit) Limit() int {
	if v.wantsCSV() {
		return maxCSV
	}
	return PageSize + 1
}

// Listed answers with a list. param is the query parameter that names the last
// row of a page, keys the values of it, one a row.
func (v *Visit) Listed(c *fiber.Ctx, head Head, list ui.List, param string, keys []string, before ...templ.Component) error {
	if v.wantsCSV() {
		return ui.WriteCSV(c, list)
	}
	if len(list.Rows) > PageSize {
		list.Rows = list.Rows[:PageSize]
		list.Older = v.with(param, keys[PageSize-1])
	}
	if v.Query.Get(param) != "" {
		list.First = v.with(param, "")
	}
	for _, filter := range list.Filters {
		if filter.Value != "" {
			list.Clear = v.Path
		}
	}
	list.CSV = v.with("format", "csv")
	if list.Choose != nil {
		list.Choose.Token = v.Token()
	}
	return v.Show(c, head, stacked(append(before, ui.ListOf(list))))
}

// with is the page's address with another value of a parameter.
func (v *Visit) with(param, value string) string {
	query := make(map[string][]string, len(v.Query))
	for name, values := range v.Query {
		query[name] = values
	}
	copied := fields(query)
	if value == "" {
		copied.Del(param)
	} else {
		copied.Set(param, value)
	}
	if len(copied) == 0 {
		return v.Path
	}
	return v.Path + "?" + copied.Encode()
}

// fail answers with an error as a page.
func (s *Shell) fail(c *fiber.Ctx, v *Visit, err error) error {
	status, message := s.Problem(c, err)
	if v == nil {
		v = &Visit{Zone: time.UTC, Now: s.Clock.Now(), Theme: theme(c), shell: s}
	}
	title := TitleOf(status)
	if status == http.StatusNotFound {
		message = text.NotFound
	}
	back := ui.Link{Href: Root, Label: text.Back}
	if status >= http.StatusInternalServerError && c.Method() == http.MethodGet {
		back = ui.Link{Href: string([]byte(c.OriginalURL())), Label: text.TryAgain}
	}
	if c.Method() == http.MethodPost && v.Business.ID != 0 {
		back.Href = string(c.Request().Header.Peek("Referer"))
		if !ours(c, back.Href) {
			back.Href = v.Link("")
		}
	}
	return ui.Write(c, status, problemPage(v, title, message, back))
}

// TitleOf heads a page that is answered with an error.
func TitleOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return text.NotFoundTitle
	case http.StatusServiceUnavailable:
		return text.AwayTitle
	default:
		return text.ProblemTitle
	}
}

const themeCookie = "servery-theme"

// theme is the appearance that the visitor chose.
func theme(c *fiber.Ctx) string {
	switch chosen := c.Cookies(themeCookie); chosen {
	case "light", "dark":
		return string([]byte(chosen))
	}
	return ""
}

// SetTheme keeps the appearance that the visitor chose, and goes back.
func SetTheme(c *fiber.Ctx, _ *Visit) error {
	chosen := c.FormValue("theme")
	if chosen != "light" && chosen != "dark" {
		chosen = ""
	}
	c.Cookie(&fiber.Cookie{Name: themeCookie, Value: chosen, Path: Root, HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode, MaxAge: 365 * 24 * 3600})
	back := string(c.Request().Header.Peek("Referer"))
	if !ours(c, back) {
		back = Root
	}
	return c.Redirect(back, http.StatusSeeOther)
}
