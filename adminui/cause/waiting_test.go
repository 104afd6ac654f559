package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func TestWaitingDeliveryShowsItsReason(t *testing.T) {
	for reason, words := range map[webhook.HeldReason][2]string{
		webhook.EndpointDown: {"the server has accepted no deliveries since 21 Nov 03:30 CST",
			"server accepts no deliveries"},
		webhook.WebhookPaused: {"the webhook is paused", "webhook paused"},
		webhook.EarlierEvent: {"an earlier event of the same order must be delivered first",
			"waiting for an earlier event"},
		"new": {"as a later version says", "as a later version says"},
	} {
		d := webhook.DeliveryRecord{State: webhook.Held, HeldReason: reason, HeldSince: since,
			HeldMessage: "as a later version says"}
		require.Equal(t, "Waiting: "+words[0]+".", Delivery(d, time.FixedZone("CST", -6*3600)).Text)
		require.Equal(t, words[1], WaitingNote(d))
	}
	gone := webhook.DeliveryRecord{State: webhook.Held, HeldReason: webhook.WebhookPaused, DisabledReason: "410 Gone"}
	require.Equal(t, "Waiting: the webhook is disabled, because the server responded with 410 (Gone).",
		Delivery(gone, time.UTC).Text)
	require.Equal(t, "webhook disabled", WaitingNote(gone))
	notSent := webhook.DeliveryRecord{State: webhook.Failed, WebhookOff: true}
	require.Equal(t, "Not sent, because the webhook was paused.", Delivery(notSent, time.UTC).Text)
	notSent.WebhookOff = false
	require.Equal(t, "Not sent.", Delivery(notSent, time.UTC).Text)
	require.Empty(t, WaitingNote(webhook.DeliveryRecord{State: webhook.Pending}))
}

func TestOrderShowsTheCallThatOthersWaitFor(t *testing.T) {
	waiting := console.Call{Kind: "rider_status", State: "waiting", Platform: "tasty-eats"}
	first, later := waiting, waiting
	first.Payload, first.Message = []byte(`{"status":"AT-STORE"}`), "the plugin is not running"
	later.EarlierWaits = true
	causes := OrderFacts{Calls: []console.Call{first, later, later, later}}.callCauses(time.UTC)
	require.Len(t, causes, 1)
	require.Contains(t, causes[0].Text, "At the store")
	require.Equal(t, ui.Cause{State: ui.Held, Text: "Waiting: an earlier call about the same order or store must end " +
		"first.", Detail: "It is sent as soon as the earlier call has ended."}, Call(later, time.UTC))
}
