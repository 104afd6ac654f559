package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// Switch is the opening or closing of a store that a platform has not confirmed.
type Switch struct {
	Cause ui.Cause
	Label string // label of a table cell
	Call  core.ID
	Opens bool
}

// StoreSwitch explains why a platform may not know that a store has opened or closed there. The calls are those about
// the store, the oldest first. It returns nil if the platform knows.
func StoreSwitch(s store.Stored, platform string, calls []console.Call, zone *time.Location) *Switch {
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	call, opens := lastSwitch(platform, calls)
	if call == nil || !listing.ListedOn(platform) || opens == (s.ClosureOn(platform) != nil) ||
		reportConfirms(s, *call, opens) {
		return nil
	}
	found := Switch{Call: call.ID, Opens: opens, Label: text.CloseUnconfirmed}
	failed, unfinished, again := text.CloseFailed, text.CloseUnfinished, text.RemedyCloseAgain
	if opens {
		found.Label = text.OpenUnconfirmed
		failed, unfinished, again = text.OpenFailed, text.OpenUnfinished, text.RemedyOpenAgain
	}
	switch relay.State(call.State) {
	case relay.Failed:
		found.Cause = ui.Cause{State: ui.Err, Detail: callRemedy(*call) + " " + again,
			Text: fmt.Sprintf(failed, platform, PlatformMessage(platform, call.Message, zone))}
	case relay.Waiting, relay.Pending:
		explained := Call(*call, zone)
		found.Cause = ui.Cause{State: explained.State, Text: fmt.Sprintf(unfinished, platform, explained.Text)}
	default:
		return nil
	}
	return &found
}

// lastSwitch returns the latest call that opened or closed a store on a platform, and whether it opened it.
func lastSwitch(platform string, calls []console.Call) (last *console.Call, opens bool) {
	for i := range slices.Backward(calls) {
		var sent relay.StoreActionPayload
		if c := &calls[i]; c.Platform == platform && c.Kind == string(relay.StoreAction) &&
			json.Unmarshal(c.Payload, &sent) == nil && sent.Workload == nil {
			return c, sent.Enable && !sent.StaysClosed
		}
	}
	return nil, false
}

// reportConfirms reports whether the platform has since reported that a store is open, or closed, as a call asks.
func reportConfirms(s store.Stored, c console.Call, opens bool) bool {
	return slices.ContainsFunc(s.PlatformStatus, func(r store.PlatformStatus) bool {
		return r.Platform == c.Platform && (r.State == store.OpenThere) == opens && r.Since >= c.CreatedAt.UnixMilli()
	})
}
