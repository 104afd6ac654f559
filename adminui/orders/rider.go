package orders

import (
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// pathOf returns the map of a rider's path.
func pathOf(v *shell.PageContext, location console.RiderLocation) ui.Map {
	path := ui.Map{Zone: v.Zone}
	for _, p := range location.Path {
		path.Points = append(path.Points, ui.MapPoint(p))
	}
	return path
}

// riderFacts says where the rider was last, and when the platform received that.
func riderFacts(v *shell.PageContext, r order.APIOrder, location console.RiderLocation) (list []ui.Fact) {
	courier := courierFact(func(at int64) ui.Cell { return ui.TimeCell(v.At(time.UnixMilli(at))) }, r)
	if len(courier) > 0 {
		return courier
	}
	if r.Rider != nil && location.ReceivedAt.IsZero() && cause.RiderStateLabel(r.State, r.Rider.Status) != "" {
		list = append(list, ui.Fact{Label: text.RiderSeen, Cell: ui.T(text.RiderSeenNone)})
	}
	if !location.ReceivedAt.IsZero() {
		sent := ui.TimeCell(v.At(location.SentAt))
		if location.SentAt.IsZero() {
			sent = ui.T(text.RiderUnsent)
		}
		note := cause.RiderLocationNote(location, r.Order.Details.Channel, v.Zone)
		if cause.RiderLocationIsStale(r, location, v.Now) {
			note += ". " + text.RiderStale
		}
		list = append(list, ui.Fact{Label: text.RiderSeen,
			Cell: ui.Cell{Instant: new(v.At(location.ReceivedAt)),
				Note: location.Latitude + ", " + location.Longitude + "; " + note}},
			ui.Fact{Label: text.RiderSentAt, Cell: sent})
	}
	return list
}
