package history

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// asOfView is the form for an item at an earlier time, and its result.
type asOfView struct {
	item, store       ui.Filter
	platform          ui.Filter
	at, zone          string
	facts             []ui.Fact
	effective, record string
}

// ItemAsOf shows an item of a store on a platform at an earlier time.
func (p Pages) ItemAsOf(c *fiber.Ctx, v *shell.PageContext) error {
	platforms, err := p.Platforms.Platforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	field := func(name string) string { return strings.TrimSpace(v.Query.Get(name)) }
	view := asOfView{item: ui.Filter{Name: "item", Label: text.ItemRef, Value: field("item")},
		store:    ui.Filter{Name: "store", Label: text.StoreRef, Value: field("store")},
		platform: ui.Filter{Name: "platform", Label: text.Platform, Value: field("platform")}, at: field("at"),
		zone: fmt.Sprintf(text.Moment, v.Zone)}
	for _, platform := range platforms {
		view.platform.Options = append(view.platform.Options, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	head := shell.Head{Title: text.ItemThen, Note: text.ItemThenNote,
		Parent: ui.Link{Href: v.Link("history/"), Label: text.History}}
	if view.item.Value != "" && view.store.Value != "" {
		status, err := p.loadAsOf(c, v, &view)
		var coded *core.Error
		switch {
		// the form names something that does not exist
		case errors.As(err, &coded) && (coded.Code == core.NotFound || coded.Code == core.Invalid):
			c.Status(http.StatusNotFound)
			status = ui.Cause{State: ui.Warn, Text: coded.Message}
		case err != nil:
			return err
		}
		head.Causes = []ui.Cause{status}
	}
	return v.Show(c, head, asOfPage(view))
}

// loadAsOf reads the item into the view and explains whether customers saw it.
func (p Pages) loadAsOf(c *fiber.Ctx, v *shell.PageContext, view *asOfView) (ui.Cause, error) {
	at := v.Now.Truncate(time.Millisecond)
	if view.at != "" {
		parsed, err := time.ParseInLocation(ui.MomentLayout, view.at, v.Zone)
		if err != nil {
			return ui.Cause{}, core.Errorf(core.Invalid, text.MomentWrong)
		}
		if parsed.Before(at) {
			at = parsed
		}
	}
	_, scope, err := p.Menus.ResolveLocation(c.UserContext(), v.Business.ID, view.store.Value)
	if err != nil {
		return ui.Cause{}, err
	}
	snapshot, err := p.Menus.ItemAsOf(c.UserContext(), v.Business.ID,
		menu.PastItem{Scope: scope, Platform: view.platform.Value, RefID: view.item.Value, At: at})
	if err != nil {
		return ui.Cause{}, err
	}
	view.facts = []ui.Fact{{Label: text.At, Cell: ui.TimeCell(v.At(at))},
		{Label: text.Item, Cell: ui.CodeCell(snapshot.RefID)},
		{Label: text.Store, Cell: ui.CodeCell(snapshot.Location)},
		{Label: text.Platform, Cell: ui.T(snapshot.Platform)}}
	view.effective, view.record = pretty(snapshot.Item), pretty(snapshot.Record)
	return asOfCause(snapshot, v.Business.Currency), nil
}

func asOfCause(snapshot menu.ItemAsOf, currency string) ui.Cause {
	switch {
	case snapshot.Shown && snapshot.OnSale != nil && !*snapshot.OnSale:
		return ui.Cause{State: ui.Warn,
			Text: fmt.Sprintf(text.ThenNotOnSale, snapshot.Platform, snapshot.Location, snapshot.Item.Title,
				ui.Price(snapshot.Item.Price.String(), currency)),
			Detail: text.ThenOutsideHours + " " + text.ThenWithoutGroups}
	case snapshot.Shown:
		return ui.Cause{State: ui.OK,
			Text: fmt.Sprintf(text.ThenShown, snapshot.Platform, snapshot.Location, snapshot.Item.Title,
				ui.Price(snapshot.Item.Price.String(), currency)),
			Detail: text.ThenWithoutGroups}
	case snapshot.Record == nil:
		return ui.Cause{State: ui.Err, Text: text.ThenNone}
	case !snapshot.Sold:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.ThenNotSold, snapshot.Location)}
	default:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.ThenNotShown, snapshot.Platform, snapshot.Location)}
	}
}

func pretty[T any](record *T) string {
	if record == nil {
		return ""
	}
	raw, err := json.Marshal(record, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return ui.Pretty(raw, ui.MaxShown)
}
