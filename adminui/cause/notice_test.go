package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

func TestCausesOfWhatDoesNotComeThrough(t *testing.T) {
	for _, row := range []struct {
		told   ui.Cause
		state  ui.State
		text   string
		detail string
	}{
		{Unheard(console.Unheard{EventType: "order_placed", Count: 1200, At: since}, time.UTC), ui.Warn,
			"Events of order_placed that nobody was told of: 1\u202f200, the last at 21 Nov 09:30 UTC. No webhook is subscribed", "subscribes at"},
		{Unheard(console.Unheard{EventType: "order_placed", Count: 1, At: since, Webhook: 7}, time.UTC), ui.Warn, "The webhook for them (7) is switched off", "Resume it"},
		{Throttled(console.Throttled{Name: "STORES", Until: since.Add(time.Second)}, since, time.UTC), ui.Err, "under the throttle STORES are answered 429 until 21 Nov 09:30:01 UTC", "SERVERY_LIMIT_STORES"},
		{Throttled(console.Throttled{Name: "MENU", Until: since}, since, time.UTC), ui.Warn, "were answered 429 until", "SERVERY_LIMIT_MENU"},
		{Throttled(console.Throttled{Name: Subscribing, Until: since.Add(time.Second)}, since, time.UTC), ui.Warn, "under the throttle WEBHOOKS are answered 429 until", "takes some minutes"},
		{Revoked(console.Key{Username: "till", Prefix: "svk_Ab12", UsedAt: since}, time.UTC), ui.Err, "The key till (svk_Ab12…) was revoked, and requests still come with it, the last at 21 Nov 09:30 UTC", "another key"},
		{Waiting(console.Waiting{Count: 3, Since: since}, time.UTC), ui.Err, "too long for their acknowledgement: 3, the longest since 21 Nov 09:30 UTC", ""},
		{Silent(console.Silent{Count: 2, Store: "Harbour Street", Since: since}, time.UTC), ui.Warn, "says nothing: 2. Nothing was heard of Harbour Street since 21 Nov 09:30 UTC", "runs there"},
		{NotTaken(console.NotTaken{Count: 3, At: since, Reason: "items must hold at least one item"}, time.UTC), ui.Warn, "did not come since: 3, the last at 21 Nov 09:30 UTC: items must hold at least one item.", "brought again"},
		{Unproved(console.Unproved{Platform: "tasty", At: since, Reason: "there is no header x-signature"}, time.UTC), ui.Warn, "in the name of tasty was refused at 21 Nov 09:30 UTC, because it does not show that it comes from there: there is no header x-signature.", "the secret"},
		{Job(console.Job{Kind: core.RedeliveryJob, State: "done", Result: []byte(`{"resent":12,"skipped":0}`)}, nil), ui.OK, "Sent again: 12 deliveries.", ""},
		{Job(console.Job{Kind: core.RedeliveryJob, State: "done", Result: []byte(`{"resent":9,"skipped":3}`)}, nil), ui.Warn, "Sent again: 9 deliveries. Left out", ""},
	} {
		require.Equal(t, row.state, row.told.State)
		require.Contains(t, row.told.Text, row.text)
		require.Contains(t, row.told.Detail, row.detail)
	}
}
