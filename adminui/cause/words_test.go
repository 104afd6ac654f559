package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func TestTimesInErrorsAreInTheZone(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	require.Equal(t, "no secure connection (its certificate expired on 22 Nov 2026, 00:30 CET)",
		FailureReason(webhook.TLS, "its certificate expired on 21 Nov 2026, 23:30 UTC", zone))
	require.Equal(t, "accepts no requests until 22 Nov 2026, 00:30:05 CET",
		PlatformMessage("tasty", "accepts no requests until 2026-11-21T23:30:05Z", zone))
	require.Equal(t, "Failed, and will be retried: not before 22 Nov 2026, 00:30:05 CET",
		Call(console.Call{State: "waiting", Message: "not before 2026-11-21T23:30:05Z"}, zone).Text)
	require.Equal(t, "99 Nov 2026, 23:30 UTC", FailureReason("", "99 Nov 2026, 23:30 UTC", zone))
}
