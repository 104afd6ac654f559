package orders

import (
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// followUpTitles are the titles of what platforms send about orders, by kind.
var followUpTitles = map[string]string{"courier": text.CourierReported, "release": text.OrderReleased}

// addFollowUps adds to the timeline what the platform sent about the order.
func addFollowUps(line *timeline.Timeline, list []console.OrderFollowUp) {
	for _, f := range list {
		entry := timeline.Entry{State: ui.Run, Title: followUpTitles[f.Kind],
			Words: fmt.Sprintf(text.MovedBy, cause.ActorName(f.Actor))}
		if f.Note != "" {
			entry.State, entry.Note = ui.Warn, fmt.Sprintf(text.FollowUpIgnored, f.Note)
		}
		line.Add(f.At, entry)
	}
}

// rideText says who reported a status of a rider.
func rideText(ride order.RiderStep) string {
	if platform, found := strings.CutPrefix(ride.Actor, "platform:"); found {
		return fmt.Sprintf(text.RiderFrom, platform)
	}
	return fmt.Sprintf(text.MovedBy, cause.ActorName(ride.Actor))
}

// courierFact says where a platform's courier was last, or returns nothing if that is unknown.
func courierFact(atTime func(int64) ui.Cell, r order.APIOrder) []ui.Fact {
	if r.Rider == nil {
		return nil
	}
	last := r.Rider.History[len(r.Rider.History)-1]
	if last.Location == nil {
		return nil
	}
	cell := atTime(last.Location.At)
	platform, _ := strings.CutPrefix(last.Actor, "platform:")
	cell.Note = last.Location.Latitude + ", " + last.Location.Longitude + "; " +
		fmt.Sprintf(text.RiderSeenBy, platform)
	return []ui.Fact{{Label: text.RiderSeen, Cell: cell}}
}
