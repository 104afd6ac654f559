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
		cause  ui.Cause
		state  ui.State
		text   string
		detail string
	}{
		{UnroutedEvents(console.UnroutedEvents{EventType: "order_placed", Count: 1200, At: since}, time.UTC), ui.Warn,
			"No webhook receives order_placed events. Not sent: 1\u202f200 events, the last on 21 Nov at 09:30 UTC.",
			"must subscribe"},
		{UnroutedEvents(console.UnroutedEvents{EventType: "order_placed", Count: 1, At: since, Webhook: 7}, time.UTC),
			ui.Warn,
			"Webhook 7 for order_placed events is paused. Not sent: 1 event, the last on 21 Nov at", "Resume it"},
		{UnroutedEvents(console.UnroutedEvents{EventType: "order_placed", Count: 1, At: since, Webhook: 7,
			DisabledReason: "410 Gone"}, time.UTC), ui.Warn,
			"Webhook 7 for order_placed events is disabled, because the server responded with 410 (Gone).",
			"Resume it"},
		{UnnotifiedOrders(console.UnnotifiedOrders{Count: 8, First: since.Add(-time.Hour), Last: since,
			HasWebhook: true}, time.UTC), ui.Err,
			"The POS has not received 8 orders, the last of 21 Nov 09:30 UTC.", "send those of today"},
		{UnnotifiedOrders(console.UnnotifiedOrders{Count: console.MaxCount, Last: since}, time.UTC), ui.Err,
			"has not received more than 9\u202f999 orders, the last", "subscribe or resume one first"},
		{FailedCalls(console.FailedCalls{Platform: "tasty", At: since, Message: "the aggregator responded with 401",
			Kinds: []console.CallCount{{Kind: "order_status", Count: 16}, {Kind: "order_acknowledge", Count: 1},
				{Kind: "dance", Count: 2}}},
			&console.Plugin{About: console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}}}}, time.UTC),
			ui.Err,
			"tasty did not accept some updates in the last 24 hours: 16 order statuses, 1 order acknowledgement, 2 " +
				"calls of kind dance. The last failed on 21 Nov at 09:30 UTC: tasty rejected the login (401).",
			"the secret api_key"},
		{FailedCalls(console.FailedCalls{Platform: "tasty", At: since, Message: "who are you?", Status: 401},
			&console.Plugin{About: console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}}}}, time.UTC),
			ui.Err, "tasty rejected the login (401: who are you?).", "the secret api_key"},
		{FailedCalls(console.FailedCalls{Platform: "tasty", At: since, Message: "the aggregator responded with 500",
			Status: 500},
			nil, time.UTC), ui.Err, "tasty did not accept", "Ask the operator of the hub."},
		{PartlyFailedJobs(console.PartlyFailedJobs{Count: 2, Kind: core.MenuJob, Failed: 12, Total: 12},
			"Menu (master catalogue)"), ui.Warn,
			"In 2 requests of the last 24 hours, at least half of the entries failed. Last request: Menu (master " +
				"catalogue), 12 of 12 menu entries failed.", "with the reasons"},
		{Throttled(console.Throttled{Name: "STORES", Until: since.Add(time.Second)}, since, time.UTC), ui.Err,
			"rejects requests over the limit STORES until 21 Nov 09:30:01 UTC", "SERVERY_LIMIT_STORES"},
		{Throttled(console.Throttled{Name: "MENU", Until: since}, since, time.UTC), ui.Warn,
			"rejected requests over the limit MENU until",
			"SERVERY_LIMIT_MENU"},
		{Throttled(console.Throttled{Name: SubscriptionLimit, Until: since.Add(time.Second)}, since, time.UTC), ui.Warn,
			"requests over the limit WEBHOOKS until", "takes some minutes"},
		{RevokedKey(console.Key{Username: "till", Prefix: "svk_Ab12", UsedAt: since}, time.UTC), ui.Err,
			"Requests still use the revoked API key \"till\" (svk_Ab12…), the last on 21 Nov at 09:30 UTC.",
			"a new key"},
		{OverdueOrders(console.OverdueOrders{Count: 3, Since: since}, time.UTC), ui.Err,
			"has not acknowledged 3 orders in time. Waiting since 21 Nov 09:30 UTC.", "the staff"},
		{SilentStores(console.SilentStores{Count: 2, Store: "Harbour Street", Since: since}, time.UTC), ui.Warn,
			"of 2 open stores. Store Harbour Street has had none since 21 Nov 09:30 UTC.", "runs there"},
		{RejectedOrders(console.RejectedOrders{Count: 3, At: since, Reason: "items must hold at least one item"},
			time.UTC),
			ui.Warn, "3 orders were rejected and have not been accepted since. The last was rejected " +
				"on 21 Nov at 09:30 UTC: items " +
				"must hold at least one item.", "place the orders again"},
		{RejectedOrders(console.RejectedOrders{Count: 452, At: since, Reason: "plugin a is unavailable",
			HubFault: true},
			time.UTC),
			ui.Err, "452 orders could not be accepted and have not arrived since. The last was rejected on " +
				"21 Nov at 09:30 UTC: plugin a is unavailable.", "the platform must resend them"},
		{Job(console.Job{Kind: core.BulkResendJob, State: "done", Result: []byte(`{"resent":12,"skipped":0}`)}, nil),
			ui.OK, "Resent: 12 event deliveries.", ""},
		{Job(console.Job{Kind: core.BulkResendJob, State: "done", Result: []byte(`{"resent":9,"skipped":3}`)}, nil),
			ui.Warn, "Resent: 9 event deliveries. Skipped", ""},
	} {
		require.Equal(t, row.state, row.cause.State)
		require.Contains(t, row.cause.Text, row.text)
		require.Contains(t, row.cause.Detail, row.detail)
	}
}

func TestJobShowsItsPublicationState(t *testing.T) {
	cause := PublishResult([]console.Publishing{{Platform: "a", State: "published", Stores: 12},
		{Platform: "b", State: "waiting", Stores: 1, Message: "the plugin is not running"}}, time.UTC)
	require.Equal(t, ui.Cause{State: ui.Run,
		Text: "a has received the applied changes for 12 stores; b has not received these changes for 1 " +
			"store yet, because the plugin is not running.",
		Detail: "The hub sends pending changes automatically, when the platform and its plugin work. The merchant's " +
			"own website and apps fetch the menu " +
			"themselves."}, cause)
	cause = PublishResult([]console.Publishing{{Platform: "a", State: "failed", Stores: 3, Message: "no image"},
		{Platform: "b", State: "waiting", Stores: 2}}, time.UTC)
	require.Equal(t, ui.Cause{State: ui.Err,
		Text: "a rejected these changes for 3 stores: no image; b has not received these changes for 2 " +
			"stores yet.",
		Detail: "The hub sends pending changes automatically, when the platform and its plugin work. The merchant's " +
			"own website and apps fetch the menu " +
			"themselves."}, cause)
	cause = PublishResult([]console.Publishing{{Platform: "a", State: "published", Stores: 1}}, time.UTC)
	require.Equal(t, ui.OK, cause.State)

	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	cause = PublishResult([]console.Publishing{{Platform: "a", State: "waiting", Stores: 1, Since: at,
		Until: at.Add(time.Hour)}}, time.UTC)
	require.Equal(t, ui.Run, cause.State)
	require.Contains(t, cause.Text, "a has accepted these changes for 1 store at ")
}

func TestUnavailableStoreHasAOneWordReason(t *testing.T) {
	off := false
	at := func(o store.Object, closed ...store.PlatformClosure) string {
		o.IncludedPlatforms = []string{"web"}
		return StoreVisibility(store.Stored{Object: o, ClosedOn: closed},
			Platform{Platform: core.Platform{Name: "web", ServedBy: core.ServedByMerchant}}, since, time.UTC).Label
	}
	require.Equal(t, []string{"Inactive", "Accepts no orders", "Closed", "Live"},
		[]string{at(store.Object{Active: &off}), at(store.Object{OrderingEnabled: &off}),
			at(store.Object{}, store.PlatformClosure{Platform: "web"}), at(store.Object{})})
}
