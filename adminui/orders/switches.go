package orders

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/history"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
)

// Changes reads changes of menus, and the objects that each changed first.
type Changes interface {
	Revisions(ctx context.Context, business core.BusinessID, f menu.RevisionFilter) ([]menu.Revision, error)
	FirstNames(ctx context.Context, business core.BusinessID, revisions []core.ID) (map[core.ID][]string, error)
}

// Bounds of the changes of a store around the time of an order.
const (
	switchWindow = 2 * time.Hour // before and after it was placed
	maxSwitches  = 10            // of the store, and of its menu
)

// switches returns who opened or closed the store of an order, and changed its menu, around that time.
func (p Pages) switches(ctx context.Context, v *shell.PageContext, r order.APIOrder) (*timeline.Timeline, error) {
	placed, line := time.UnixMilli(r.Order.Details.Created), timeline.New(v, "")
	line.Prefix = "switch-"
	entries, err := p.Timeline.Audit(ctx, v.Business.ID, console.EntryFilter{
		Object: fmt.Sprintf("store/%d", r.Order.Store.ID), From: placed.Add(-switchWindow),
		To: placed.Add(switchWindow), Limit: maxSwitches})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		line.AddStoreSwitch(e)
	}
	changes, err := p.Changes.Revisions(ctx, v.Business.ID, menu.RevisionFilter{Location: r.Order.Store.RefID,
		From: placed.Add(-switchWindow), To: placed.Add(switchWindow), Limit: maxSwitches})
	if err != nil {
		return nil, err
	}
	ids := make([]core.ID, len(changes))
	for i, change := range changes {
		ids[i] = change.ID
	}
	names, err := p.Changes.FirstNames(ctx, v.Business.ID, ids)
	for _, change := range changes {
		line.Add(time.UnixMilli(change.At), timeline.Entry{State: ui.Neutral, Title: history.KindLabel(change.Kind),
			Words: fmt.Sprintf(text.MovedBy, cause.ActorName(change.Actor)),
			Note:  strings.Join(names[change.ID], ", "), Href: v.Link("history/" + change.ID.String() + "/")})
	}
	return line, err
}
