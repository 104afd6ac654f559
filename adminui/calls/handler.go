// Package calls lists the calls to aggregators, and shows each with its attempts.
package calls

import (
	"context"
	"fmt"
	"strconv"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Reader reads calls and the platforms of a business.
type Reader interface {
	ListCalls(ctx context.Context, business core.BusinessID, f console.CallFilter) ([]console.CallRow, error)
	SearchCalls(ctx context.Context, business core.BusinessID,
		f console.CallFilter) ([]console.CallRow, console.SearchProgress[console.CallRow], error)
	Call(ctx context.Context, business core.BusinessID, id core.ID) (console.CallRow, error)
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
}

// Pages is the pages of calls.
type Pages struct{ Calls Reader }

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "calls/"
	return shell.Page{Path: path, Label: text.PlatformCalls,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/body/:key", access.Viewer, compare.Download(p.bodies)),
		},
		Filters: &shell.Filters{Names: filterNames, Check: shell.CheckBy(parseFilter)}}
}

// read reads a page of the list, or searches.
func (p Pages) read(ctx context.Context, v *shell.PageContext, f filter) ([]console.CallRow, shell.Searched, error) {
	if !f.searches() {
		found, err := p.Calls.ListCalls(ctx, v.Business.ID, f.query(v.Query.Get("before"), v.Limit()))
		return found, shell.Searched{}, err
	}
	found, progress, err := p.Calls.SearchCalls(ctx, v.Business.ID, f.query(v.Query.Get("before"), v.SearchLimit()))
	searched := f.order.Searched(progress.Last.ID, progress.Last.CreatedAt, progress.Last.FinishedAt)
	searched.Rows, searched.Done = progress.Searched, progress.Done
	return found, searched, err
}

// List shows the calls of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f, err := parseFilter(v.Query.Get, v.Now, v.Zone)
	if err != nil {
		return err
	}
	found, searched, err := p.read(c.UserContext(), v, f)
	if err != nil {
		return err
	}
	platforms, err := p.Calls.Platforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	options := []ui.Option{{Value: "", Label: text.Any}}
	for _, platform := range platforms {
		options = append(options, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	list := table(v, f.order, found)
	f.addFilters(&list, v, options)
	if f.searches() {
		v.ShowProgress(&list, searched, f.times)
	}
	head := shell.Head{Title: text.PlatformCalls, Note: text.CallsNote, Live: !f.searches()}
	return v.ShowList(c, head, list, "before")
}

func table(v *shell.PageContext, order shell.FailureOrder, found []console.CallRow) ui.List {
	list := ui.List{Name: text.PlatformCalls, EmptyTitle: text.NoCallsFound, EmptyText: text.NoCallsFound_,
		NoMatchText: text.NoCallsFilter,
		Columns: []ui.Column{
			{Label: text.PlatformCall, Kind: ui.Wide}, {Label: text.Subject, Key: "subject"},
			{Label: text.State, Key: "state"},
			{Label: text.LastResponse, Kind: ui.Wide, Key: "response"},
			{Label: text.Attempts, Kind: ui.Figure, Key: "attempts"},
			{Label: text.LastStatus, Kind: ui.Figure, Key: "status"}, {Label: text.Created, Key: "created"},
			{Label: text.Finished, Key: "finished", Extra: true}, {Label: text.NextAttempt, Key: "next", Extra: true},
			{Label: text.Platform, Key: "platform", Extra: true}, {Label: text.Actor, Key: "actor", Extra: true},
			{Label: text.Address, Key: "url", Extra: true}, {Label: text.CallID, Key: "id", Extra: true}}}
	for _, call := range found {
		state := cause.Call(call.Call, v.Zone)
		list.AddAt(order.Cursor(call.ID, call.FinishedAt),
			ui.LinkCell(cause.CallTitle(call.Call), callLink(v, call)), subjectCell(v, call),
			stateCell(call, state.State), ui.T(cause.LocalTimes(call.Message, v.Zone)), ui.T(ui.Number(call.Tries)),
			ui.T(number(call.Status)), ui.TimeCell(v.At(call.CreatedAt)), ui.TimeCell(v.At(call.FinishedAt)),
			ui.TimeCell(v.At(call.NextAt)), ui.T(call.Platform), ui.T(call.Actor), ui.CodeCell(call.URL),
			ui.CodeCell(call.ID.String()))
	}
	return list
}

// number returns a number, or "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func callLink(v *shell.PageContext, call console.CallRow) string {
	return v.Link("calls/" + call.ID.String() + "/")
}

// stateCell shows the state of a call, and whether it waits for an earlier one.
func stateCell(call console.CallRow, state ui.State) ui.Cell {
	label := call.State
	for _, o := range stateOptions {
		if o.Value == call.State {
			label = o.Label
		}
	}
	cell := ui.StateCell(state, label)
	if call.EarlierWaits {
		cell.Note = text.CallEarlierNote
	}
	return cell
}

// subjectCell links the order or the store of a call.
func subjectCell(v *shell.PageContext, call console.CallRow) ui.Cell {
	switch {
	case call.OrderID != 0:
		return ui.LinkCell(fmt.Sprintf(text.OrderOf, call.OrderID), v.Link(fmt.Sprintf("orders/%d/", call.OrderID)))
	case call.StoreID != 0:
		return ui.LinkCell(fmt.Sprintf(text.StoreOf, call.StoreID), v.Link(fmt.Sprintf("stores/%d/", call.StoreID)))
	default:
		return ui.T("")
	}
}

func (p Pages) get(c *fiber.Ctx, v *shell.PageContext) (console.CallRow, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return console.CallRow{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Calls.Call(c.UserContext(), v.Business.ID, id)
}

// One shows a call with its attempts.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	call, err := p.get(c, v)
	if err != nil {
		return err
	}
	state := cause.Call(call.Call, v.Zone)
	facts := []ui.Fact{{Label: text.State, Cell: stateCell(call, state.State)},
		{Label: text.Subject, Cell: subjectCell(v, call)}, {Label: text.Platform, Cell: ui.T(call.Platform)},
		{Label: text.CallID, Cell: ui.CodeCell(call.ID.String())},
		{Label: text.Created, Cell: ui.TimeCell(v.At(call.CreatedAt))},
		{Label: text.NextAttempt, Cell: ui.TimeCell(v.At(call.NextAt))},
		{Label: text.Finished, Cell: ui.TimeCell(v.At(call.FinishedAt))}}
	line := timeline.New(v, callLink(v, call)+"body/")
	line.Open = true
	line.AddCall(call.Call)
	payload := ui.PayloadOf("payload", text.CallPayload, call.Payload, ui.MaxShown, "")
	return v.Show(c, shell.Head{Title: cause.CallTitle(call.Call), Live: true,
		Parent: ui.Link{Href: v.Link("calls/"), Label: text.PlatformCalls}, Causes: []ui.Cause{state}},
		templ.Join(ui.FactsOf(facts), ui.Part(text.Attempts, ui.Link{}, line.Show()), ui.Body(payload)))
}

// bodies returns the bodies of the attempts of a call.
func (p Pages) bodies(c *fiber.Ctx, v *shell.PageContext) (link ui.Link, choice compare.Choice, err error) {
	call, err := p.get(c, v)
	if err != nil {
		return link, choice, err
	}
	choice.Bodies = timeline.Bodies([]console.Call{call.Call}, v.Zone)
	return ui.Link{Href: callLink(v, call), Label: cause.CallTitle(call.Call)}, choice, nil
}
