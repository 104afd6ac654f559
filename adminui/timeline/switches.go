package timeline

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/toggle"
)

// AddStoreSwitch adds an audit entry of a store, such as its opening or closing.
func (l *Timeline) AddStoreSwitch(e console.Entry) {
	var detail struct {
		Why   string
		After struct {
			Platforms []string
			Source    string
		}
	}
	_ = json.Unmarshal(e.Detail, &detail, json.MatchCaseInsensitiveNames(true)) // unreadable details are omitted
	entry := Entry{State: ui.Neutral, Title: e.Action, Href: l.page.Link("audit/" + e.ID.String() + "/")}
	switch e.Action {
	case "store.close":
		entry.State, entry.Title = ui.Held, fmt.Sprintf(text.StoreClosedOn, cause.Join(detail.After.Platforms))
	case "store.publish":
		entry.Title = text.StorePublished
	case "store.open":
		entry.State, entry.Title = ui.OK, fmt.Sprintf(text.StoreOpenedOn, cause.Join(detail.After.Platforms))
	case "store.busy":
		entry.State, entry.Title = ui.Warn, fmt.Sprintf(text.StoreBusyOn, cause.Join(detail.After.Platforms))
	case "store.normal":
		entry.State, entry.Title = ui.OK, fmt.Sprintf(text.StoreNormalOn, cause.Join(detail.After.Platforms))
	}
	entry.Words, entry.Note = fmt.Sprintf(text.MovedBy, cause.ActorName(e.Actor)), detail.Why
	if detail.After.Source == toggle.SourceTimer {
		entry.Words = fmt.Sprintf(text.SwitchedByTimer, cause.ActorName(e.Actor))
	}
	l.Add(e.At, entry)
}
