package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/webhook"
)

func TestHeldReasonUsesThePageTimezone(t *testing.T) {
	held := webhook.DeliveryRecord{State: webhook.Held,
		HeldBecause: "the endpoint has not answered since 2026-11-21T09:30:00Z; it is tried every 2s", HeldSince: since}
	require.Equal(t, "Held: the endpoint has not answered since 21 Nov 03:30 CST; it is tried every 2s.",
		Delivery(held, time.FixedZone("CST", -6*3600)).Text)
	held = webhook.DeliveryRecord{State: webhook.Held, HeldBecause: "the webhook is switched off"}
	require.Equal(t, "Held: the webhook is switched off.", Delivery(held, time.UTC).Text)
}
