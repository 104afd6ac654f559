package shell

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Query parameters of lists: the columns, the order, and how many rows a search has read on earlier pages.
const (
	columnsParam  = "cols"
	sortParam     = "sort"
	searchedParam = "searched"
)

// columnsCookie is the prefix of the cookies with the columns of lists.
const columnsCookie = "servery-cols-"

// columnPattern matches the key of a column.
var columnPattern = regexp.MustCompile(`^[a-z_]{1,30}$`)

// Oldest is the order of a list with the oldest rows first.
const Oldest = "oldest"

// TimeSorts returns the orders of a list that is sorted by one time, in a column.
func TimeSorts(column string) []ui.Sort {
	return []ui.Sort{{Value: "", Column: column}, {Value: Oldest, Column: column, Ascending: true}}
}

// ParseOldest reads the order of a list with TimeSorts. Any other order is Invalid.
func ParseOldest(get func(string) string) (oldest bool, err error) {
	switch value := get(sortParam); value {
	case "":
		return false, nil
	case Oldest:
		return true, nil
	default:
		return false, core.Errorf(core.Invalid, text.FilterSort, value)
	}
}

// FilterCheck checks the filters of a query, with times in the zone.
type FilterCheck func(get func(string) string, now time.Time, zone *time.Location) error

// CheckBy returns the check of the filters that a function parses.
func CheckBy[F any](parse func(func(string) string, time.Time, *time.Location) (F, error)) FilterCheck {
	return func(get func(string) string, now time.Time, zone *time.Location) error {
		_, err := parse(get, now, zone)
		return err
	}
}

// arrange adds to a list the columns that the user chose, and the links of its orders.
func (v *PageContext) arrange(c *fiber.Ctx, list *ui.List, param string) {
	list.LinkSorts(func(sort string) string { return v.urlWith(sortParam, sort, param, "", searchedParam, "") })
	if v.list == nil {
		return
	}
	name := v.list.page.name()
	if list.Shown = list.KnownColumns(strings.Split(v.Query.Get(columnsParam), ".")); list.Shown == nil {
		list.Shown = list.KnownColumns(strings.Split(c.Cookies(columnsCookie+name), "."))
	}
	if slices.ContainsFunc(list.Columns, func(column ui.Column) bool { return column.Key != "" }) {
		list.Chooser = &ui.Chooser{Action: ColumnsPath, Token: v.Token(), List: name}
	}
}

// keepArrangement adds the columns and the order to the form of the filters.
func (v *PageContext) keepArrangement(list *ui.List) {
	if len(list.Filters) == 0 {
		return
	}
	temporary := slices.ContainsFunc(list.Sorts, func(s ui.Sort) bool { return s.Value == list.Sort && s.Temporary })
	if !temporary {
		list.Filters = append(list.Filters, ui.Filter{Name: sortParam, Value: list.Sort, Hidden: true})
	}
	list.Filters = append(list.Filters,
		ui.Filter{Name: columnsParam, Value: v.Query.Get(columnsParam), Hidden: true})
}

// columnsRoute returns the route of the form that selects the columns of a list. It returns to the list.
func (s *Shell) columnsRoute() Route {
	return Post(ColumnsPath, access.Viewer, func(c *fiber.Ctx, _ *PageContext) error {
		list := Field(c, "list")
		if !slices.ContainsFunc(s.Pages, func(p Page) bool { return p.Filters != nil && p.name() == list }) {
			return c.Redirect(refererPath(c), http.StatusSeeOther)
		}
		var keys []string
		for _, key := range Fields(c, "column") {
			if columnPattern.MatchString(key) && Field(c, "standard") == "" && len(keys) < 50 {
				keys = append(keys, key)
			}
		}
		chosen := strings.Join(keys, ".")
		c.Cookie(&fiber.Cookie{Name: columnsCookie + list, Value: chosen, Path: Root, HTTPOnly: true,
			SameSite: fiber.CookieSameSiteLaxMode, MaxAge: 365 * 24 * 3600})
		back, err := url.Parse(refererPath(c))
		if err != nil {
			return err
		}
		query := back.Query()
		if query.Del(columnsParam); chosen != "" {
			query.Set(columnsParam, chosen)
		}
		back.RawQuery = query.Encode()
		return c.Redirect(back.RequestURI(), http.StatusSeeOther)
	})
}

// SearchLimit returns the number of rows that a search of a text should find.
func (v *PageContext) SearchLimit() int {
	if v.WantsCSV() {
		return maxCSV
	}
	return PageSize
}

// Searched is how far the search of a text in a list came.
type Searched struct {
	Rows   int       // that this request searched
	Until  time.Time // the time of the last of them
	Cursor string    // of the last of them
	Done   bool      // none are left
	Oldest bool      // the oldest are searched first
}

// ShowProgress adds to a list how far a search in a time range came, and a link that continues it.
func (v *PageContext) ShowProgress(list *ui.List, s Searched, times TimeRange) {
	before, _ := strconv.Atoi(v.Query.Get(searchedParam)) // 0 if it is unreadable
	rows := s.Rows + min(max(before, 0), 1_000_000_000)
	p := &ui.Progress{}
	switch open := times.Preset == AnyTime; {
	case s.Done && open:
		p.Text = fmt.Sprintf(text.SearchedOpenAll, ui.Number(rows))
	case s.Done:
		p.Text = fmt.Sprintf(text.SearchedAll, ui.Number(rows))
	case open:
		p.Text = fmt.Sprintf(text.SearchedOpen, ui.Number(rows), v.At(s.Until).Exact())
	default:
		p.Text = fmt.Sprintf(text.Searched, ui.Number(rows), ui.Number(s.total(rows, times, v.Now)),
			v.At(s.Until).Exact())
	}
	if !s.Done {
		p.Continue = ui.Link{Label: text.SearchContinue,
			Href: v.urlWith("before", s.Cursor, searchedParam, fmt.Sprint(rows))}
		list.NoMatchTitle, list.NoMatchText = text.SearchNone, text.SearchNoneText
	}
	if times.Implied {
		p.Text += " " + text.SearchImplied
	}
	list.Progress = p
}

// total estimates the number of rows in the time range from those of a part of it.
func (s Searched) total(rows int, times TimeRange, now time.Time) int {
	from, to := times.From, times.To
	if to.IsZero() || to.After(now) {
		to = now
	}
	searched := to.Sub(s.Until)
	if s.Oldest {
		searched = s.Until.Sub(from)
	}
	if searched <= 0 || to.Sub(from) <= searched {
		return rows
	}
	return roundNumber(int(min(float64(rows)*to.Sub(from).Seconds()/searched.Seconds()+0.5, 1e9)))
}

// roundNumber rounds a number to two digits.
func roundNumber(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}
