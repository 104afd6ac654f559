package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/store"
)

func TestUndeliveredEventsAreExplained(t *testing.T) {
	for _, row := range []struct {
		told   ui.Cause
		state  ui.State
		text   string
		detail string
	}{
		{Unheard(console.Unheard{EventType: "order_placed", Count: 1200, At: since}, time.UTC), ui.Warn,
			"Events of order_placed that nobody was told of: 1\u202f200, the last at 21 Nov 09:30 UTC. No webhook is " +
				"subscribed", "subscribes at"},
		{Unheard(console.Unheard{EventType: "order_placed", Count: 1, At: since, Webhook: 7}, time.UTC), ui.Warn,
			"The webhook for them (7) is switched off", "Resume it"},
		{Untold(console.Untold{Count: 8, First: since.Add(-time.Hour), Last: since, Heard: true}, time.UTC), ui.Err,
			"Orders that nobody was told of: 8, the last at 21 Nov 09:30 UTC.", "Those of today can still be sent"},
		{Untold(console.Untold{Count: console.Many, Last: since}, time.UTC), ui.Err,
			"nobody was told of: more than 9\u202f999, the last", "subscribe or resume one first"},
		{CallsRefused(console.RefusedCalls{Platform: "tasty", At: since, Message: "the aggregator answered 401",
			Kinds: []console.CallCount{{Kind: "order_status", Count: 16}, {Kind: "order_acknowledge", Count: 1},
				{Kind: "dance", Count: 2}}},
			&console.Plugin{About: console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}}}}, time.UTC),
			ui.Err,
			"tasty did not take all that it was told in the last 24 hours: 16 states of orders, 1 acknowledgement of " +
				"an order, 2 calls of kind dance; the last at 21 Nov 09:30 UTC: the aggregator answered 401.",
			"the secret api_key"},
		{JobsRefused(console.RefusedJobs{Count: 2, Refused: 12, Total: 12}, "Menu master catalogue"), ui.Warn,
			"half or more was refused: 2. The last, Menu master catalogue: not applied 12 of 12.", ""},
		{Throttled(console.Throttled{Name: "STORES", Until: since.Add(time.Second)}, since, time.UTC), ui.Err,
			"under the throttle STORES are answered 429 until 21 Nov 09:30:01 UTC", "SERVERY_LIMIT_STORES"},
		{Throttled(console.Throttled{Name: "MENU", Until: since}, since, time.UTC), ui.Warn, "were answered 429 until",
			"SERVERY_LIMIT_MENU"},
		{Throttled(console.Throttled{Name: Subscribing, Until: since.Add(time.Second)}, since, time.UTC), ui.Warn,
			"under the throttle WEBHOOKS are answered 429 until", "takes some minutes"},
		{Revoked(console.Key{Username: "till", Prefix: "svk_Ab12", UsedAt: since}, time.UTC), ui.Err,
			"The key till (svk_Ab12…) was revoked, and requests still come with it, the last at 21 Nov 09:30 UTC",
			"another key"},
		{Waiting(console.Waiting{Count: 3, Since: since}, time.UTC), ui.Err,
			"too long for their acknowledgement: 3, the longest since 21 Nov 09:30 UTC", ""},
		{Silent(console.Silent{Count: 2, Store: "Harbour Street", Since: since}, time.UTC), ui.Warn,
			"says nothing: 2. Nothing was heard of Harbour Street since 21 Nov 09:30 UTC", "runs there"},
		{NotTaken(console.NotTaken{Count: 3, At: since, Reason: "items must hold at least one item"}, time.UTC),
			ui.Warn, "did not come since: 3, the last at 21 Nov 09:30 UTC: items must hold at least one item.",
			"brought again"},
		{Job(console.Job{Kind: core.RedeliveryJob, State: "done", Result: []byte(`{"resent":12,"skipped":0}`)}, nil),
			ui.OK, "Sent again: 12 deliveries.", ""},
		{Job(console.Job{Kind: core.RedeliveryJob, State: "done", Result: []byte(`{"resent":9,"skipped":3}`)}, nil),
			ui.Warn, "Sent again: 9 deliveries. Left out", ""},
	} {
		require.Equal(t, row.state, row.told.State)
		require.Contains(t, row.told.Text, row.text)
		require.Contains(t, row.told.Detail, row.detail)
	}
}

func TestJobShowsItsPublicationState(t *testing.T) {
	taken := Taken([]console.Publishing{{Platform: "a", State: "published", Stores: 12},
		{Platform: "b", State: "waiting", Stores: 1, Message: "the plugin is not running"}})
	require.Equal(t, ui.Cause{State: ui.Run,
		Text: "On the platforms: a has the menu of 12 stores; b has yet to be told of the menu of 1 store: the " +
			"plugin is not running."}, taken)
	taken = Taken([]console.Publishing{{Platform: "a", State: "failed", Stores: 3, Message: "told to fail"},
		{Platform: "b", State: "waiting", Stores: 2}})
	require.Equal(t, ui.Cause{State: ui.Err,
		Text: "On the platforms: a refused the menu of 3 stores: told to fail; b has yet to be told of the menu of 2 " +
			"stores."}, taken)
	require.Equal(t, ui.OK, Taken([]console.Publishing{{Platform: "a", State: "published", Stores: 1}}).State)
}

func TestUnavailableStoreHasAOneWordReason(t *testing.T) {
	off := false
	at := func(o store.Object, closed ...store.Closing) string {
		o.IncludedPlatforms = []string{"web"}
		return StoreAt(store.Stored{Object: o, ClosedOn: closed},
			Platform{Platform: core.Platform{Name: "web", ServedBy: core.ServedByOwn}}, since).Words
	}
	require.Equal(t, []string{"Inactive", "Takes no orders", "Closed", "Live"},
		[]string{at(store.Object{Active: &off}), at(store.Object{OrderingEnabled: &off}),
			at(store.Object{}, store.Closing{Platform: "web"}), at(store.Object{})})
}
