package shell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// SavedViews reads and writes the saved views of lists.
type SavedViews interface {
	SavedViews(ctx context.Context, business core.BusinessID, user int64, list string) ([]console.SavedView, error)
	SaveView(ctx context.Context, view console.SavedView, change access.Change) (int64, error)
	DeleteView(ctx context.Context, view console.SavedView, change access.Change) error
}

// Filters are the filters of a list: their query parameters, and the check of their values, with times in the zone.
type Filters struct {
	Names []string
	Check func(get func(string) string, now time.Time, zone *time.Location) error
}

// only returns the filters of a query, with the columns and the order. Times without an offset are in the zone.
func (f Filters) only(query url.Values, zone *time.Location) url.Values {
	kept := url.Values{}
	for _, name := range append(slices.Clone(f.Names), columnsParam, sortParam) {
		if value := query.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	return withOffsets(kept, zone)
}

// viewList is a list with saved views, in the business of a page.
type viewList struct {
	page   Page
	saved  []console.SavedView
	broken console.SavedView // the opened view, if its filter is not valid anymore
	causes []ui.Cause        // why the opened view does not apply
}

// name returns the name of the list, such as deliveries.
func (p Page) name() string {
	path, _ := p.inBusiness()
	return strings.Trim(path, "/")
}

// WithViewRoutes returns the pages with the forms of saved views, for those with Filters. They precede the routes that
// match any id.
func (s *Shell) WithViewRoutes(pages []Page) []Page {
	for i, page := range pages {
		if page.Filters != nil {
			pages[i].Routes = slices.Insert(slices.Clone(page.Routes), 1,
				Post(page.Path+"views/", access.Viewer, s.saveView(page, false)),
				Post(page.Path+"views/share/", access.Support, s.saveView(page, true)),
				Post(page.Path+"views/delete/", access.Viewer, s.deleteView(page, false)),
				Post(page.Path+"views/withdraw/", access.Support, s.deleteView(page, true)))
		}
	}
	return pages
}

// withViews returns the route. That of a list with Filters also opens the view that the query names.
func (s *Shell) withViews(page Page, r Route) Route {
	if page.Filters == nil || r.Method != http.MethodGet || r.Path != page.Path {
		return r
	}
	show := r.Handle
	r.Handle = func(c *fiber.Ctx, v *PageContext) error {
		if exact := v.ExactURL(c); exact != "" {
			return c.Redirect(exact, http.StatusSeeOther)
		}
		saved, err := s.Views.SavedViews(c.UserContext(), v.Business.ID, v.User.ID, page.name())
		if err != nil {
			return err
		}
		v.list = &viewList{page: page, saved: saved}
		v.openView()
		if v.WantsCSV() && len(v.list.causes) > 0 {
			// Without the filters the file would have too much.
			return core.Errorf(core.Invalid, "%s", v.list.causes[0].Text)
		}
		return show(c, v)
	}
	return r
}

// openView adds the filters of the view that the query names to the query.
func (v *PageContext) openView() {
	id := v.Query.Get("view")
	if id == "" {
		return
	}
	i := slices.IndexFunc(v.list.saved, func(s console.SavedView) bool { return strconv.FormatInt(s.ID, 10) == id })
	if i < 0 {
		v.list.causes = []ui.Cause{{State: ui.Wait, Text: text.ViewGone}}
		return
	}
	view := v.list.saved[i]
	filters, err := v.list.filtersOf(v, view.Filters, v.local) // older views have times without an offset
	if err != nil {
		v.list.broken = view
		broken := ui.Cause{State: ui.Wait, Text: fmt.Sprintf(text.ViewInvalid, view.Name)}
		var coded *core.Error
		if errors.As(err, &coded) {
			broken.Detail = coded.Message
		}
		v.list.causes = []ui.Cause{broken}
		return
	}
	v.Query.Del("view")
	for name, values := range filters {
		if !v.Query.Has(name) {
			v.Query[name] = values
		}
	}
}

// filtersOf parses and checks the filters of a query string. Times without an offset are in the zone.
func (l viewList) filtersOf(v *PageContext, raw string, zone *time.Location) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, core.Errorf(core.Invalid, text.FilterWrong)
	}
	filters := l.page.Filters.only(query, zone)
	return filters, l.page.Filters.Check(filters.Get, v.Now, v.Zone)
}

// viewBar returns the saved views of the list, with the forms that save and delete one.
func (v *PageContext) viewBar(c *fiber.Ctx) templ.Component {
	present := v.list.page.Filters.only(v.Query, v.Zone)
	bar := viewBar{}
	current := v.list.broken
	for _, view := range v.list.saved {
		label := view.Name
		switch {
		case view.User != v.User.ID:
			label = fmt.Sprintf(text.ViewBy, view.Name, view.Owner)
		case view.Shared:
			label = fmt.Sprintf(text.ViewBy, view.Name, text.ViewShared)
		}
		stored, err := url.ParseQuery(view.Filters)
		isCurrent := current.ID == 0 && err == nil &&
			inUTC(v.list.page.Filters.only(stored, v.local)).Encode() == inUTC(present).Encode()
		if isCurrent {
			current = view
		}
		bar.views = append(bar.views, ui.Period{Current: isCurrent || current.ID == view.ID,
			Link: ui.Link{Label: label, Href: fmt.Sprintf("%s?view=%d", v.Path, view.ID)}})
	}
	hidden := []ui.Option{{Label: "filters", Value: present.Encode()}}
	name := []ui.Filter{{Name: "name", Label: text.Name}}
	bar.buttons = []ui.Button{{Label: text.SaveView, Action: v.Path + "views/", Help: text.SaveViewHelp,
		Hidden: hidden, Fields: name}}
	if v.MayAct() {
		bar.buttons = append(bar.buttons, ui.Button{Label: text.ShareView, Action: v.Path + "views/share/",
			Help: text.ShareHelp, Hidden: hidden, Fields: name, ReasonLabel: text.Why})
	}
	if current.ID != 0 && (v.MayAct() || !current.Shared) {
		bar.buttons = append(bar.buttons, deleteButton(v, current))
	}
	v.prepare(c, bar.buttons)
	return bar.show()
}

func deleteButton(v *PageContext, view console.SavedView) ui.Button {
	b := ui.Button{Label: text.DeleteView, Action: v.Path + "views/delete/", Danger: true,
		Help:   fmt.Sprintf(text.DeleteHelp, view.Name),
		Hidden: []ui.Option{{Label: "id", Value: fmt.Sprint(view.ID)}}}
	if view.Shared {
		b.Action, b.Help, b.ReasonLabel = v.Path+"views/withdraw/", fmt.Sprintf(text.DeleteShared, view.Name), text.Why
	}
	return b
}

// saveView returns the handler of the form that saves the filters of a list.
func (s *Shell) saveView(page Page, shared bool) Handler {
	show := s.withViews(page, page.Routes[0]).Handle
	return func(c *fiber.Ctx, v *PageContext) error {
		filters, err := viewList{page: page}.filtersOf(v, Field(c, "filters"), v.Zone)
		if err != nil {
			return err
		}
		id, err := s.Views.SaveView(c.UserContext(), console.SavedView{Business: v.Business.ID, User: v.User.ID,
			List: page.name(), Name: Field(c, "name"), Filters: filters.Encode(), Shared: shared},
			v.Change(c, "view.share"))
		v.Path = v.Link(page.name() + "/")
		if code := core.CodeOf(err); code == core.Invalid || code == core.Conflict {
			v.Query, v.formError = filters, err
			return show(c, v)
		}
		if err != nil {
			return err
		}
		return RedirectDone(c, fmt.Sprintf("%s?view=%d", v.Path, id), "view-saved")
	}
}

// deleteView returns the handler of the form that deletes a view.
func (s *Shell) deleteView(page Page, shared bool) Handler {
	return func(c *fiber.Ctx, v *PageContext) error {
		id, err := strconv.ParseInt(Field(c, "id"), 10, 64)
		if err != nil {
			return core.Errorf(core.NotFound, text.NotFound)
		}
		if err := s.Views.DeleteView(c.UserContext(), console.SavedView{Business: v.Business.ID, User: v.User.ID,
			List: page.name(), ID: id, Shared: shared}, v.Change(c, "view.delete")); err != nil {
			return err
		}
		return RedirectDone(c, v.Link(page.name()+"/"), "view-deleted")
	}
}
