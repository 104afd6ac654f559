package orders

import (
	"context"
	"fmt"
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

// RefusedPath is the page of refused orders within a business.
const RefusedPath = "orders/refused/"

// Refused shows the orders of a business that were not taken, and why.
func (p Pages) Refused(c *fiber.Ctx, v *shell.PageContext) error {
	f := console.RefusedFilter{Platform: v.Query.Get("platform"), ID: strings.TrimSpace(v.Query.Get("id")),
		Store: strings.TrimSpace(v.Query.Get("store")), Limit: v.Limit()}
	// no moment else that a database takes
	if before, err := strconv.ParseInt(v.Query.Get("before"), 10, 64); err == nil && before>>57 == 0 {
		f.Before = time.UnixMicro(before)
	}
	found, _, err := p.Lister.RefusedOrders(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	named, err := p.platforms(c.UserContext(), v)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.RefusedOrders, EmptyTitle: text.NoRefusedTitle, EmptyText: text.NoRefusedText,
		Columns: []ui.Column{
			{Label: text.OrderOn}, {Label: text.State}, {Label: text.RefusedWhy, Kind: ui.Wide},
			{Label: text.RefusedStore},
			{Label: text.RefusedTimes, Kind: ui.Figure}, {Label: text.RefusedAt}, {Label: text.RefusedFirst}}}
	list.Filters = []ui.Filter{{Name: "platform", Label: text.Platform, Value: f.Platform, Options: named},
		{Name: "id", Label: text.RefusedID, Value: f.ID, Hint: text.RefusedIDHint},
		{Name: "store", Label: text.Store, Value: f.Store, Hint: text.RefusedStoreHint}}
	keys := make([]string, len(found))
	for i, r := range found {
		keys[i] = fmt.Sprint(r.Last.UnixMicro())
		list.Rows = append(list.Rows, refusedRow(v, r))
	}
	return v.Listed(c, shell.Head{Title: text.RefusedOrders, Note: text.RefusedOrdersNote,
		Up: ui.Link{Href: v.Link("orders/"), Label: text.Orders}, Live: true}, list, "before", keys)
}

func refusedRow(v *shell.PageContext, r console.RefusedOrder) ui.Row {
	id := ui.Cell{Text: r.PlatformOrderID, Code: true, Note: r.Platform}
	if r.PlatformOrderID == "" {
		id = ui.Cell{Text: text.RefusedUnreadable, Note: r.Platform}
	}
	state := ui.Stated(ui.Err, text.NotTaken)
	if r.OrderID != 0 {
		state = ui.Cell{Text: text.RefusedCame, Href: v.Link(fmt.Sprintf("orders/%d/", r.OrderID))}
	}
	return ui.Row{Cells: []ui.Cell{id, state, ui.T(r.Reason), ui.Coded(r.Store), ui.T(ui.Number(r.Times)),
		ui.Timed(v.At(r.Last)), ui.Timed(v.At(r.First))}}
}

// refused tells of the orders that would be in a list of orders, had they been taken.
func (p Pages) refused(ctx context.Context, v *shell.PageContext, f console.OrderFilter) ([]ui.Cause, error) {
	last, all, err := p.Lister.RefusedOrders(ctx, v.Business.ID, console.RefusedFilter{
		Platform: f.Platform, ID: f.ID, Store: f.Store, Since: f.Since, Missing: true, Limit: 1})
	if err != nil || all == 0 {
		return nil, err
	}
	told := cause.NotTaken(console.NotTaken{Count: all, At: last[0].Last, Reason: last[0].Reason}, v.Zone)
	query := url.Values{}
	for name, value := range map[string]string{"platform": f.Platform, "id": f.ID, "store": f.Store} {
		if value != "" {
			query.Set(name, value)
		}
	}
	told.Link = ui.Link{Href: strings.TrimSuffix(v.Link(RefusedPath)+"?"+query.Encode(), "?"),
		Label: text.ActSeeRefused}
	return []ui.Cause{told}, nil
}
