package shell

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// Head is the top of a page.
type Head struct {
	Title          string
	Note           string  // beside the title
	Parent         ui.Link // zero: none
	Causes         []ui.Cause
	Links          []ui.Link // to related pages
	Buttons        []ui.Button
	Live           bool // reloaded when the business changes
	RefreshSeconds int  // period of reloading, for data without change notification; 0: never

	Above []templ.Component // above the list of the page
}

// OutsideRefresh is the RefreshSeconds of pages that also show opening hours, plugins or silent POS. Their changes are
// not notified.
const OutsideRefresh = 30

// Show renders a page. Its status is 200 unless the handler has set another one. If a button's form was rejected, the
// page shows it open with the error.
func (v *PageContext) Show(c *fiber.Ctx, head Head, body templ.Component) error {
	if v.prepare(c, head.Buttons); v.formError != nil {
		return v.formError
	}
	for i := range head.Causes {
		if head.Causes[i].Button != nil {
			head.Causes[i].Button.Token = v.Token()
		}
	}
	return ui.Write(c, c.Response().StatusCode(), page(v, head, body))
}

// prepare completes the buttons of a page. The one whose form was rejected has the error.
func (v *PageContext) prepare(c *fiber.Ctx, buttons []ui.Button) {
	value := func(name string) string { return Field(c, name) }
	for i, b := range buttons {
		if v.formError != nil && b.Matches(c.Path(), value) {
			buttons[i], v.formError = b.WithProblem(value, v.ErrorMessage(c, v.formError)), nil
		}
		buttons[i].Token = v.Token()
	}
}

// PageSize is the number of rows of a page of a list. A CSV file has at most maxCSV rows.
const (
	PageSize = 50
	maxCSV   = 10_000
)

// WantsCSV reports whether the request asks for a CSV file.
func (v *PageContext) WantsCSV() bool { return v.Query.Get("format") == "csv" }

// Limit returns the number of rows to read: one more than are shown, which reveals that there are more.
func (v *PageContext) Limit() int {
	if v.WantsCSV() {
		return maxCSV + 1
	}
	return PageSize + 1
}

// ShowList renders a list. param is the query parameter of the cursor of a row.
func (v *PageContext) ShowList(c *fiber.Ctx, head Head, list ui.List, param string) error {
	if cursor := v.Query.Get(param); cursor != "" {
		at := func(row ui.Row) bool { return row.Cursor == cursor }
		if shown := slices.IndexFunc(list.Rows, at); shown >= 0 { // a list that is read as a whole
			list.Rows = list.Rows[shown+1:]
		}
	}
	v.arrange(c, &list, param)
	if v.WantsCSV() {
		if len(list.Rows) > maxCSV {
			list.Rows = list.Rows[:maxCSV]
			list.Add(ui.T(fmt.Sprintf(text.CSVCut, ui.Number(maxCSV))))
		}
		if p := list.Progress; p != nil && p.Continue.Href != "" {
			list.Add(ui.T(p.Text + " " + text.SearchCut))
		}
		return ui.WriteCSV(c, list)
	}
	if len(list.Rows) > PageSize {
		list.Rows = list.Rows[:PageSize]
		list.Older = v.urlWith(param, list.Rows[PageSize-1].Cursor)
	}
	if v.Query.Get(param) != "" {
		list.First = v.urlWith(param, "", searchedParam, "")
	}
	for _, filter := range list.Filters {
		if filter.Value != "" {
			list.Clear = v.Path
			list.EmptyTitle, list.EmptyText = cmp.Or(list.NoMatchTitle, text.NothingMatches),
				cmp.Or(list.NoMatchText, text.NothingMatchesText)
		}
	}
	v.keepArrangement(&list)
	list.CSV = v.urlWith("format", "csv", param, "", searchedParam, "")
	if list.Choose != nil {
		list.Choose.Token = v.Token()
	}
	if v.list != nil {
		head.Causes = append(head.Causes, v.list.causes...)
		list.Views = v.viewBar(c)
	}
	return v.Show(c, head, templ.Join(append(head.Above, ui.ListOf(list))...))
}

// urlWith returns the URL of the page with other query parameters, given as names and values. An empty value removes
// the parameter.
func (v *PageContext) urlWith(pairs ...string) string {
	query := maps.Clone(v.Query)
	for pair := range slices.Chunk(pairs, 2) {
		if query.Del(pair[0]); pair[1] != "" {
			query.Set(pair[0], pair[1])
		}
	}
	if len(query) == 0 {
		return v.Path
	}
	return v.Path + "?" + query.Encode()
}

// Redisplay shows the page at path again with the rejected form open and filled in. It returns any error other than
// Invalid, NotFound and Conflict.
func (v *PageContext) Redisplay(c *fiber.Ctx, err error, path string, page Handler) error {
	if code := core.CodeOf(err); code != core.Invalid && code != core.NotFound && code != core.Conflict {
		return err
	}
	v.formError, v.Path = err, path
	return page(c, v)
}

// ErrorMessage sets the status of the response to that of an error, and returns its message.
func (v *PageContext) ErrorMessage(c *fiber.Ctx, err error) string {
	status, words := v.shell.Problem(c, err)
	c.Status(status)
	return words
}

// fail renders an error page.
func (s *Shell) fail(c *fiber.Ctx, v *PageContext, err error) error {
	status, message := s.Problem(c, err)
	var coded *core.Error
	if errors.As(err, &coded) && coded.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int((coded.RetryAfter+time.Second-1)/time.Second)))
	}
	if v == nil {
		v = &PageContext{Zone: time.UTC, Now: s.Clock.Now(), look: lookOf(c), shell: s}
	}
	title := ErrorTitle(status)
	if status == http.StatusNotFound && c.Method() != http.MethodPost { // an action says what it has not found
		message = text.NotFound
	}
	back := ui.Link{Href: Root, Label: text.Back}
	if status >= http.StatusInternalServerError && c.Method() == http.MethodGet {
		back = ui.Link{Href: string([]byte(c.OriginalURL())), Label: text.TryAgain}
	}
	if c.Method() == http.MethodPost && v.Business.ID != 0 {
		back.Href = string(c.Request().Header.Peek("Referer"))
		if !isConsoleURL(c, back.Href) {
			back.Href = v.Link("")
		}
	}
	return ui.Write(c, status, problemPage(v, title, message, back))
}

// ErrorTitle returns the title of an error page.
func ErrorTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return text.NotFoundTitle
	case http.StatusServiceUnavailable:
		return text.UnavailableTitle
	default:
		return text.ProblemTitle
	}
}
