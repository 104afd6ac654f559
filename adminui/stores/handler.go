// Package stores shows the stores of a business: on which platforms a store takes orders, and why not on others.
package stores

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
)

// Lister lists stores and platforms, and finds items by ref_id.
type Lister interface {
	ListStores(ctx context.Context, business core.BusinessID, f console.StoreFilter) ([]console.Store, error)
	StoreRef(ctx context.Context, business core.BusinessID, id int64) (ref string, updated time.Time, err error)
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
	// StoreOffers returns how many items of a store each menu.Reason concerns, by platform.
	StoreOffers(ctx context.Context, business core.BusinessID, store int64) (map[string]map[menu.Reason]int, error)
	// StoreFindings returns the findings of platforms against a store.
	StoreFindings(ctx context.Context, business core.BusinessID, store int64) ([]console.ItemFinding, error)
	// ItemID returns the id of an item by its ref_id, or NotFound.
	ItemID(ctx context.Context, business core.BusinessID, refID string) (int64, error)
}

// Timeline reads the events of a store.
type Timeline interface {
	ListJobs(ctx context.Context, business core.BusinessID, f console.JobFilter) ([]console.Job, error)
	CallsOfStore(ctx context.Context, business core.BusinessID, store int64, limit int) ([]console.Call, error)
	Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error)
}

// Publisher publishes the menu of a store.
type Publisher interface {
	PublishNow(ctx context.Context, business core.BusinessID, storeRef string, platforms []string,
		change access.Change) error
}

// Reader reads the full record of a store.
type Reader interface {
	Get(ctx context.Context, business core.BusinessID, refID string) (store.Stored, error)
}

// Plugins lists the plugins that serve platforms.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
}

// Publications reads the publications of stores.
type Publications interface {
	List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error)
	// LastSent returns the menu that was last sent to a platform, or NotFound.
	LastSent(ctx context.Context, business core.BusinessID, store int64, platform string) (publish.LastSent, error)
}

// Renderer renders the current menu of a store for a platform.
type Renderer interface {
	Render(ctx context.Context, work publish.Work) (publish.Rendering, error)
}

// Pages are the pages of stores.
type Pages struct {
	Lister       Lister
	Timeline     Timeline
	Publisher    Publisher
	Workloads    Workloads
	Stores       Reader
	Plugins      Plugins
	Publications Publications
	Renderer     Renderer
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "stores/"
	return shell.Page{Path: path, Label: text.Stores, Object: "store",
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/record.json", access.Viewer, p.Record),
			shell.Get(path+":id/diff/", access.Viewer, compare.Diff(p.bodies)),
			shell.Get(path+":id/body/:key", access.Viewer, compare.Download(p.bodies)),
			shell.Get(path+":id/menu/", access.Viewer, p.Menu),
			shell.Get(path+":id/menu/diff/", access.Viewer, compare.Diff(p.menuBodies)),
			shell.Get(path+":id/menu/body/:key", access.Viewer, compare.Download(p.menuBodies)),
			shell.Post(path+":id/publish/", access.Support, p.Publish),
			shell.Post(path+":id/busy/", access.Support, p.setWorkload(toggle.Busy)),
			shell.Post(path+":id/normal/", access.Support, p.setWorkload(toggle.Normal)),
		},
		Done: map[string]string{"published": text.PublishAsked, string(toggle.Busy): text.BusySet,
			string(toggle.Normal): text.NormalSet}}
}

// List shows the stores of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f := console.StoreFilter{Text: v.Query.Get("text"), Status: console.StoreStatus(v.Query.Get("state")),
		Local: v.LocalNow(), After: v.Query.Get("after"), Limit: v.Limit()}
	found, err := p.Lister.ListStores(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	platforms, err := p.Lister.Platforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Stores, EmptyTitle: text.NoStoresTitle, EmptyText: text.NoStoresText,
		Filters: filters(f),
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Name, Kind: ui.Wide}, {Label: text.City},
			{Label: text.State}, {Label: text.Listed}, {Label: text.Updated}}}
	for _, s := range found {
		href := v.Link(fmt.Sprintf("stores/%d/", s.ID))
		state, words := stateOf(s, platformNames(platforms))
		list.AddAt(s.RefID, ui.Cell{Text: s.RefID, Href: href, Code: true}, ui.LinkCell(s.Name, href), ui.T(s.City),
			ui.StateCell(state, words), ui.T(listing(s.Excluded, s.Included)), ui.TimeCell(v.At(s.Updated)))
	}
	return v.ShowList(c, shell.Head{Title: text.Stores, Note: text.StoresNote, Live: true}, list, "after")
}

func filters(f console.StoreFilter) []ui.Filter {
	choices := []ui.Option{{Value: "", Label: text.Any}}
	for _, s := range statuses {
		choices = append(choices, ui.Option{Value: string(s.status), Label: s.words})
	}
	return []ui.Filter{{Name: "text", Label: text.Text, Value: f.Text},
		{Name: "state", Label: text.State, Value: string(f.Status), Options: choices}}
}

var statuses = []struct {
	status console.StoreStatus
	state  ui.State
	words  string
}{{console.StoreInactive, ui.Err, text.NotActive}, {console.StoreUnlisted, ui.Err, text.NotListed},
	{console.StoreNoOrders, ui.Err, text.NoOrders}, {console.StoreNoItems, ui.Err, text.NoItemsLabel},
	{console.StoreClosed, ui.Err, text.ClosedHere}, {console.StoreHidden, ui.Warn, text.Hidden},
	{console.StoreShut, ui.Warn, text.GridClosed}, {console.StoreOpen, ui.OK, text.Live}}

func stateOf(s console.Store, platforms []string) (ui.State, string) {
	if s.Status == console.StoreClosed {
		listed := store.Listing{Excluded: s.Excluded, Included: s.Included}.Filter(platforms)
		open := slices.DeleteFunc(slices.Clone(listed),
			func(platform string) bool { return slices.Contains(s.ClosedOn, platform) })
		if len(open) > 0 {
			return ui.Warn, fmt.Sprintf(text.ClosedOnSome, len(listed)-len(open), len(listed))
		}
		return ui.Err, text.ClosedEverywhere
	}
	for _, row := range statuses {
		if row.status == s.Status {
			return row.state, row.words
		}
	}
	return ui.Neutral, string(s.Status)
}

func platformNames(platforms []core.Platform) []string {
	names := make([]string, len(platforms))
	for i, platform := range platforms {
		names[i] = platform.Name
	}
	return names
}

func listing(excluded, included []string) string {
	switch {
	case excluded != nil && len(excluded) == 0:
		return text.ListedAll
	case excluded != nil:
		return fmt.Sprintf(text.ListedBut, strings.Join(excluded, ", "))
	case len(included) == 0:
		return text.ListedNone
	default:
		return strings.Join(included, ", ")
	}
}

// storeView is the data of the page of a store.
type storeView struct {
	facts     []ui.Fact
	platforms ui.List
	syncs     ui.List
	hours     hoursView
	timeline  *timeline.Timeline
	record    ui.Payload
	diffURL   string // of the comparison of bodies of calls
}

// Bounds of the timeline: calls per platform, and audit entries.
const callsShown, auditShown = 5, 10

// One shows a store.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	ctx := c.UserContext()
	id, ref, updated, err := p.storeOf(c, v)
	if err != nil {
		return err
	}
	s, err := p.Stores.Get(ctx, v.Business.ID, ref)
	if err != nil {
		return err
	}
	platforms, err := p.Lister.Platforms(ctx, v.Business.ID)
	if err != nil {
		return err
	}
	syncs, err := p.Timeline.ListJobs(ctx, v.Business.ID,
		console.JobFilter{Kind: string(core.MenuJob), Subject: ref, Limit: 5})
	if err != nil {
		return err
	}
	calls, err := p.Timeline.CallsOfStore(ctx, v.Business.ID, id, callsShown)
	if err != nil {
		return err
	}
	shown, err := p.visibilities(ctx, v, s, platforms, calls)
	if err != nil {
		return err
	}
	events, err := p.timeline(ctx, v, id, calls)
	if err != nil {
		return err
	}
	causes, err := p.problems(ctx, v, shown)
	if err != nil {
		return err
	}
	found, err := p.Lister.StoreFindings(ctx, v.Business.ID, id)
	if err != nil {
		return err
	}
	requests := jobs.Table(v, syncs)
	requests.EmptyTitle, requests.EmptyText = text.NoSyncsTitle, text.NoSyncsText
	view := storeView{timeline: events, platforms: platformList(v, id, shown), syncs: requests,
		hours: hoursOf(s.OpeningHours(), v.LocalNow()), facts: facts(v, s, updated),
		diffURL: v.Link(fmt.Sprintf("stores/%d/diff/", id))}
	if raw, err := recordOf(s); err == nil {
		view.record = ui.PayloadOf("record", text.StoreRecord, raw, ui.MaxShown,
			v.Link(fmt.Sprintf("stores/%d/record.json", id)))
	}
	return v.Show(c, shell.Head{Title: *s.Name, Note: ref, Parent: ui.Link{Href: v.Link("stores/"), Label: text.Stores},
		Live: true, RefreshSeconds: shell.OutsideRefresh,
		Links: []ui.Link{{Href: v.Link(fmt.Sprintf("audit/?object=store/%d", id)), Label: text.WhoSwitched},
			{Href: v.Link("history/?location=" + url.QueryEscape(ref)), Label: text.HistoryOfMenu},
			{Href: v.Link("history/?entity=stores&ref=" + url.QueryEscape(ref)), Label: text.HistoryOfStore}},
		Buttons: append(publishButtons(v, id, s, platforms), workloadButtons(v, id, s, platforms)...),
		Causes: slices.Concat([]ui.Cause{
			storeCause(s, shown, v.LocalNow())}, switches(v, shown),
			cause.StoreClosures(s, v.Zone), cause.StoreBusy(s, v.Zone),
			cause.ClosuresByPlatforms(s, v.LocalNow(), v.Zone),
			cause.StoreFindings(found), causes)}, storePage(view))
}

// storeCause explains whether a store accepts orders.
func storeCause(s store.Stored, shown []visibility, now time.Time) ui.Cause {
	names := make([]string, len(shown))
	for i, vis := range shown {
		names[i] = vis.platform.Name
	}
	down, wait := platformsNotLive(shown)
	return cause.Store(s, names, down, wait, now)
}

// timeline returns the timeline of a store: updates to platforms, and when it was opened and closed.
func (p Pages) timeline(ctx context.Context, v *shell.PageContext, id int64,
	calls []console.Call) (*timeline.Timeline, error) {
	line := timeline.New(v, v.Link(fmt.Sprintf("stores/%d/body/", id)))
	for _, call := range calls {
		line.AddCall(call)
	}
	entries, err := p.Timeline.Audit(ctx, v.Business.ID,
		console.EntryFilter{Object: fmt.Sprintf("store/%d", id), Limit: auditShown})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		line.AddStoreSwitch(e)
	}
	return line, nil
}

func facts(v *shell.PageContext, s store.Stored, updated time.Time) []ui.Fact {
	list := []ui.Fact{{Label: text.RefFact, Cell: ui.CodeCell(*s.RefID)}, {Label: "ID", Cell: ui.T(fmt.Sprint(s.ID))},
		{Label: text.City, Cell: ui.T(*s.City)},
		{Label: text.Listed, Cell: ui.T(listing(s.ExcludedPlatforms, s.IncludedPlatforms))},
		{Label: text.Updated, Cell: ui.TimeCell(v.At(updated))}}
	if s.Address != nil {
		list = append(list, ui.Fact{Label: text.StreetAddress, Cell: ui.T(*s.Address)})
	}
	return list
}
