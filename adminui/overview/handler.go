// Package overview shows current problems and delivery figures, of all visible businesses or of one.
package overview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/settings"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/store"
)

// Activity reads figures, problems and recent jobs of businesses.
type Activity interface {
	Counts(ctx context.Context, businesses []core.BusinessID, webhook int64, grain time.Duration,
		since time.Time) ([]console.Count, error)
	Figures(ctx context.Context, businesses []core.BusinessID, since time.Time) (console.Figures, error)
	UnhealthyEndpoints(ctx context.Context, businesses []core.BusinessID, limit int) ([]console.Endpoint, error)
	FailedJobs(ctx context.Context, businesses []core.BusinessID, since time.Time, limit int) ([]console.Job, error)
	Notices(ctx context.Context, businesses []core.BusinessID, since time.Time) (console.Notices, error)
	ListJobs(ctx context.Context, business core.BusinessID, f console.JobFilter) ([]console.Job, error)
}

// Pages is the overview and the business page.
type Pages struct {
	Activity Activity
	Stores   StoreGrid
	Listing  Listing
	Plugins  Plugins
}

// Listing reads the default platforms of new stores.
type Listing interface {
	DefaultListing(ctx context.Context, business core.BusinessID) (store.DefaultListing, error)
}

// Page describes the overview of all businesses.
func (p Pages) Page() shell.Page {
	const path = shell.Root
	return shell.Page{Path: path, Label: text.Overview,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Overview),
		}}
}

// BusinessPage describes the page of a business.
func (p Pages) BusinessPage() shell.Page {
	const path = shell.BusinessPath
	return shell.Page{Path: path, Label: text.Business,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Business),
			shell.Get(path+"grid/", access.Viewer, p.Grid),
		}}
}

const (
	day                = 24 * time.Hour
	maxProblems        = 12  // groups of failing webhooks; also jobs
	maxProblemsRead    = 100 // webhooks; also jobs
	maxBusinesses      = 200
	maxChartBusinesses = 2000 // businesses included in the figures
	throttleNoticeAge  = 5 * time.Minute
	maxGridStores      = 8 // stores on the business page
)

// overviewView is the view model of both pages.
type overviewView struct {
	figures []ui.Metric
	charts  []ui.Chart
	list    *ui.List
	facts   []ui.Fact
	title   string // heading of list
	grid    *ui.List
	gridURL string // path of the full grid
}

// Overview shows all businesses visible to the user.
func (p Pages) Overview(c *fiber.Ctx, v *shell.PageContext) error {
	businesses, ids, err := v.VisibleBusinesses(c.UserContext(), maxChartBusinesses)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Overview,
		Note: fmt.Sprintf(text.AsOf, text.OverviewNote, v.Now.In(v.Zone).Format("15:04:05 MST")), Live: true}
	if len(ids) == 0 {
		list := ui.List{Name: text.Businesses, EmptyTitle: text.NoBusinessTitle, EmptyText: text.NoBusinessText}
		if v.Visible() != nil {
			list.EmptyText = text.NoBusinesses
		}
		return v.Show(c, head, ui.ListOf(list))
	}
	found, err := p.Plugins.ListPlugins(c.UserContext(), v.Visible())
	if err != nil {
		return err
	}
	view, causes, err := p.loadView(c.UserContext(), v, found, ids, namesByID(businesses))
	if err != nil {
		return err
	}
	head.Causes = causes
	list := ui.List{Name: text.Businesses, Columns: []ui.Column{
		{Label: text.Name, Kind: ui.Wide}, {Label: "ID", Kind: ui.Figure}, {Label: text.Country},
		{Label: text.Currency}, {Label: text.Zone}}}
	for i, b := range businesses {
		if i < maxBusinesses {
			list.Add(ui.LinkCell(b.Name, shell.BusinessLink(b.ID, "")), ui.T(fmt.Sprint(b.ID)), ui.T(b.Country),
				ui.T(b.Currency), ui.T(b.Timezone))
		}
	}
	if len(businesses) > maxBusinesses {
		list.More = fmt.Sprintf(text.MoreBusinesses, ui.Number(maxBusinesses))
	}
	view.list, view.title = &list, text.Businesses
	return v.Show(c, head, overviewPage(view))
}

// businessRest is what the business page shows below the figures.
type businessRest struct {
	recent  []console.Job
	grid    gridTable
	listing store.DefaultListing
}

// Business shows one business. It reads two halves at the same time, because it takes many short statements.
func (p Pages) Business(c *fiber.Ctx, v *shell.PageContext) error {
	b, ctx := v.Business, c.UserContext()
	found, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{b.ID})
	if err != nil {
		return err
	}
	serving := slices.DeleteFunc(slices.Clone(found), func(p console.Plugin) bool { return len(p.Serves) == 0 })
	var (
		view   overviewView
		causes []ui.Cause
		rest   businessRest
	)
	err = v.Both(ctx, func(ctx context.Context) (err error) {
		view, causes, err = p.loadView(ctx, v, serving, []core.BusinessID{b.ID}, nil)
		return err
	}, func(ctx context.Context) (err error) {
		rest, err = p.loadRest(ctx, v, found)
		return err
	})
	if err != nil {
		return err
	}
	list := jobs.Table(v, rest.recent)
	view.list, view.title = &list, text.RecentJobs
	if len(rest.grid.list.Rows) > 0 {
		view.grid, view.gridURL = &rest.grid.list, v.Link("grid/")
	}
	view.facts = []ui.Fact{{Label: "ID", Cell: ui.T(fmt.Sprint(b.ID))}, {Label: text.Country, Cell: ui.T(b.Country)},
		{Label: text.Currency, Cell: ui.T(b.Currency)}, {Label: text.Zone, Cell: ui.T(b.Timezone)},
		{Label: text.Created, Cell: ui.TimeCell(v.At(b.CreatedAt))}, settings.ListingFact(rest.listing)}
	causes = withWarnedJob(v, causes, rest.recent)
	return v.Show(c, shell.Head{Title: b.Name, Note: text.BusinessNote, Causes: causes, Live: true,
		RefreshSeconds: shell.OutsideRefresh}, overviewPage(view))
}

func (p Pages) loadRest(ctx context.Context, v *shell.PageContext, found []console.Plugin) (rest businessRest,
	err error) {
	if rest.recent, err = p.Activity.ListJobs(ctx, v.Business.ID, console.JobFilter{Limit: 8}); err != nil {
		return rest, err
	}
	platforms, err := p.Stores.Platforms(ctx, v.Business.ID)
	if err != nil {
		return rest, err
	}
	rest.grid, err = p.grid(ctx, v, gridSource{found, platforms},
		console.GridFilter{Limit: maxGridStores, After: console.ParseGridCursor("")})
	if err != nil {
		return rest, err
	}
	rest.listing, err = p.Listing.DefaultListing(ctx, v.Business.ID)
	return rest, err
}

// withWarnedJob adds the latest job of the last day that had warnings, among the recent ones. It replaces the
// statement that there are no problems.
func withWarnedJob(v *shell.PageContext, causes []ui.Cause, recent []console.Job) []ui.Cause {
	for _, j := range recent {
		if j.State != string(job.Done) || j.DryRun || j.CreatedAt.Before(v.Now.Add(-day)) ||
			len(cause.Warnings(j)) == 0 || job.FailedObjects(j.Result) > 0 {
			continue
		}
		warned := namedJob(j)
		warned.Link = ui.Link{Href: v.Link("jobs/" + j.Reference.String() + "/"), Label: text.ActSeeJob}
		if len(causes) == 1 && causes[0].State == ui.OK {
			causes = nil
		}
		return append(causes, warned)
	}
	return causes
}

func namesByID(businesses []core.Business) map[core.BusinessID]string {
	names := make(map[core.BusinessID]string, len(businesses))
	for _, b := range businesses {
		names[b.ID] = b.Name
	}
	return names
}

func (p Pages) loadView(ctx context.Context, v *shell.PageContext, found []console.Plugin, ids []core.BusinessID,
	names map[core.BusinessID]string) (overviewView, []ui.Cause, error) {
	var view overviewView
	since := v.Now.Add(-day)
	counts, err := p.Activity.Counts(ctx, ids, 0, time.Hour, v.Now.Add(-23*time.Hour).Truncate(time.Hour))
	if err != nil {
		return view, nil, err
	}
	figures, err := p.Activity.Figures(ctx, ids, since)
	if err != nil {
		return view, nil, err
	}
	causes, err := p.problems(ctx, v, found, ids, names)
	if err != nil {
		return view, nil, err
	}
	var total console.Count
	for _, count := range counts {
		total.Add(count)
	}
	if figures.OpenProblems > 0 {
		causes = insertAfterErrors(causes, openProblems(v, figures))
	}
	if len(causes) == 0 {
		causes = []ui.Cause{withoutCauses(v, total, figures)}
	}
	view.figures = figureList(v, total, figures)
	view.charts = charts(v, counts, total)
	return view, causes, nil
}

// insertAfterErrors adds a warning after the last error.
func insertAfterErrors(causes []ui.Cause, warning ui.Cause) []ui.Cause {
	at := len(causes)
	for at > 0 && causes[at-1].State != ui.Err {
		at--
	}
	return slices.Insert(causes, at, warning)
}

// The deliveries that Figures counts.
const (
	failedDeliveries = "deliveries/?state=failed&of=failed&when=24h"
	heldDeliveries   = "deliveries/?state=held"
)

// openProblems reports the unresolved problems, with the number of their failed deliveries.
func openProblems(v *shell.PageContext, f console.Figures) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseProblems,
			cause.CappedCount(f.OpenProblems, text.OneOpenProblem, text.OpenProblems_),
			cause.CappedCount(f.Undelivered, text.OneDelivery, text.Deliveries_)),
		Link: ui.Link{Href: problemsPath(v), Label: text.ActSeeProblems}}
}

func problemsPath(v *shell.PageContext) string {
	if v.Business.ID == 0 {
		return shell.ProblemsPath
	}
	return v.Link("problems/")
}

// withoutCauses states that there are no problems, unless the figures count failed or held deliveries.
func withoutCauses(v *shell.PageContext, total console.Count, f console.Figures) ui.Cause {
	healthy := ui.Cause{State: ui.OK, Text: text.NoProblems}
	switch {
	case f.FailedDeliveries > 0: // of resolved problems
		failed := ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.DetailFailedDeliveries,
			cause.CappedCount(f.FailedDeliveries, text.OneDelivery, text.Deliveries_)),
			Link: ui.Link{Href: problemsPath(v) + "?state=any", Label: text.ActSeeProblems}}
		if v.Business.ID != 0 {
			failed.Link = ui.Link{Href: v.Link(failedDeliveries), Label: text.ActSeeFailedDeliveries}
		}
		return failed
	case f.Held > 0: // such as those to a callback_url
		held := ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CauseHeldNow,
			cause.CappedCount(f.Held, text.OneDelivery, text.Deliveries_), text.HeldNote)}
		if v.Business.ID != 0 {
			held.Link = ui.Link{Href: v.Link(heldDeliveries), Label: text.ActSeeDeliveries}
		}
		return held
	case total.Attempts() == 0:
		healthy.Text = text.NoTraffic
		if v.Business.ID != 0 {
			healthy.Link = ui.Link{Href: v.Link("checklist/"), Label: text.Checklist}
		}
	}
	return healthy
}

func figureList(v *shell.PageContext, total console.Count, f console.Figures) []ui.Metric {
	link := func(path string) string {
		if v.Business.ID == 0 {
			return ""
		}
		return v.Link(path)
	}
	rate := ui.Metric{Label: text.AcceptedRate, Value: "–",
		Note: fmt.Sprintf(text.OfAttempts, ui.Count(total.Attempts(), text.OneAttempt, text.Attempts_))}
	if total.Attempts() > 0 {
		rate.Value = fmt.Sprintf("%.1f %%", total.SuccessRate())
		if total.Failed > 0 {
			rate.State, rate.Href = ui.Warn, link("webhooks/")
		}
	}
	held := ui.Metric{Label: text.HeldNow, Value: cause.CappedNumber(f.Held), Note: text.HeldNote,
		Href: link(heldDeliveries)}
	if f.Held > 0 {
		held.State = ui.Held
	}
	lost := ui.Metric{Label: text.FailedDay, Value: cause.CappedNumber(f.FailedDeliveries), Note: text.FailedNote,
		Href: link(failedDeliveries)}
	if v.Business.ID == 0 {
		lost.Note, lost.Href = text.FailedNoteAll, shell.ProblemsPath
	}
	if f.FailedDeliveries > 0 {
		lost.State = ui.Err
	}
	jobs := ui.Metric{Label: text.FailedJobsDay, Value: cause.CappedNumber(f.FailedJobs),
		Note: fmt.Sprintf(text.OpenJobsNote, cause.CappedNumber(f.OpenJobs)), Href: link("jobs/?state=failed&when=24h")}
	if f.FailedJobs > 0 {
		jobs.State = ui.Err
	}
	return []ui.Metric{rate,
		{Label: text.PendingNow, Value: cause.CappedNumber(f.Waiting), Note: text.WaitNote,
			Href: link("deliveries/?state=pending")}, held, lost, jobs}
}
