package orders

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// RejectedPath is the path of the rejected orders within a business.
const RejectedPath = "orders/refused/"

// missing is the state of rejected orders that were not accepted since.
const missing = "missing"

// RejectedLink returns the path of the rejected orders that a notice counts: those not accepted since, of a fault and
// with the filters.
func RejectedLink(hubFault bool, filters map[string]string) string {
	query := url.Values{"state": {missing}, "fault": {string(console.OrderFault)}}
	if hubFault {
		query.Set("fault", string(console.HubFault))
	}
	for name, value := range filters {
		if value != "" {
			query.Set(name, value)
		}
	}
	return RejectedPath + "?" + query.Encode()
}

// Rejected lists rejected orders with their reasons.
func (p Pages) Rejected(c *fiber.Ctx, v *shell.PageContext) error {
	if exact := v.ExactURL(c); exact != "" {
		return c.Redirect(exact, http.StatusSeeOther)
	}
	times, err := shell.ParseTimeRange(v.Query.Get, v.Now, v.Zone, shell.AnyTime)
	if err != nil {
		return err
	}
	state := v.Query.Get("state")
	f := console.RejectedFilter{Platform: v.Query.Get("platform"), ID: strings.TrimSpace(v.Query.Get("id")),
		Store: strings.TrimSpace(v.Query.Get("store")), Fault: console.RejectionFault(v.Query.Get("fault")),
		Missing: state == missing, Since: times.From, Before: times.To, Limit: v.Limit()}
	// larger values overflow the timestamps of the database
	if before, err := strconv.ParseInt(v.Query.Get("before"), 10, 64); err == nil && before>>57 == 0 {
		f.Before = time.UnixMicro(before)
	}
	found, _, err := p.Lister.RejectedOrders(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	platforms, err := p.platformOptions(c.UserContext(), v)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.RejectedOrders, EmptyTitle: text.NoRejectedTitle, EmptyText: text.NoRejectedText,
		Columns: []ui.Column{
			{Label: text.OrderOn}, {Label: text.State}, {Label: text.RejectedWhy, Kind: ui.Wide},
			{Label: text.RejectedStore},
			{Label: text.RejectedTimes, Kind: ui.Figure}, {Label: text.RejectedAt}, {Label: text.RejectedFirst}}}
	list.Filters = []ui.Filter{{Name: "state", Label: text.State, Value: state,
		Options: []ui.Option{{Value: "", Label: text.Any}, {Value: missing, Label: text.RejectedMissing}}},
		{Name: "platform", Label: text.Platform, Value: f.Platform, Options: platforms},
		{Name: "id", Label: text.RejectedID, Value: f.ID, Hint: text.RejectedIDHint},
		{Name: "store", Label: text.Store, Value: f.Store, Hint: text.RejectedStoreHint},
		{Name: "fault", Label: text.RejectedBecause, Value: string(f.Fault),
			Options: []ui.Option{{Value: "", Label: text.Any},
				{Value: string(console.OrderFault), Label: text.RejectedOrderFault},
				{Value: string(console.HubFault), Label: text.RejectedHubFault}}}}
	times.AddTo(&list, v, text.RejectedAt, shell.AnyTime)
	for _, r := range found {
		list.AddAt(fmt.Sprint(r.Last.UnixMicro()), rejectedCells(v, r)...)
	}
	return v.ShowList(c, shell.Head{Title: text.RejectedOrders, Note: text.RejectedOrdersNote,
		Parent: ui.Link{Href: v.Link("orders/"), Label: text.Orders}, Live: true}, list, "before")
}

func rejectedCells(v *shell.PageContext, r console.RejectedOrder) []ui.Cell {
	id := ui.Cell{Text: r.PlatformOrderID, Code: true, Note: r.Platform}
	if r.PlatformOrderID == "" {
		id = ui.Cell{Text: text.RejectedUnreadable, Note: r.Platform}
	}
	state := ui.StateCell(ui.Err, text.Rejected)
	if r.HubFault {
		state = ui.StateCell(ui.Err, text.NotAccepted)
	}
	if r.OrderID != 0 {
		state = ui.Cell{Text: text.RejectedAcceptedLater, Href: v.Link(fmt.Sprintf("orders/%d/", r.OrderID))}
	}
	return []ui.Cell{id, state, ui.T(cause.ErrorText(r.Reason)), ui.CodeCell(r.Store), ui.T(ui.Number(r.Times)),
		ui.TimeCell(v.At(r.Last)), ui.TimeCell(v.At(r.First))}
}

// rejectedCauses reports rejected orders that match the filters of the order list, by fault.
func (p Pages) rejectedCauses(ctx context.Context, v *shell.PageContext, f filter) (causes []ui.Cause, err error) {
	filters := map[string]string{"platform": f.Platform, "id": f.ID, "store": f.Store}
	if !f.From.IsZero() || !f.To.IsZero() {
		maps.Copy(filters, f.times.Parameters(v.Zone))
	}
	for _, fault := range []console.RejectionFault{console.HubFault, console.OrderFault} {
		last, all, err := p.Lister.RejectedOrders(ctx, v.Business.ID, console.RejectedFilter{
			Platform: f.Platform, ID: f.ID, Store: f.Store, Since: f.From, Before: f.To, Fault: fault, Missing: true,
			Limit: 1})
		if err != nil {
			return nil, err
		}
		if all == 0 {
			continue
		}
		hubFault := fault == console.HubFault
		rejected := cause.RejectedOrders(console.RejectedOrders{Count: all, At: last[0].Last, Reason: last[0].Reason,
			HubFault: hubFault}, v.Zone)
		rejected.Link = ui.Link{Href: v.Link(RejectedLink(hubFault, filters)), Label: text.ActSeeRejected}
		causes = append(causes, rejected)
	}
	return causes, nil
}
