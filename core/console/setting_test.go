package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestMonitoringDurationsAreParsedAndBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{"5m": 5 * time.Minute, "0": 0, "0s": 0, "90s": 90 * time.Second,
		"24h": 24 * time.Hour, "1h30m": 90 * time.Minute} {
		var w MonitoringRules
		require.NoError(t, w.SetAckWithin("ack", text), text)
		require.Equal(t, want, *w.AckWithin)
		var parsed MonitoringRules
		require.NoError(t, parsed.SetAckWithin("ack", FormatSpan(w.AckWithin)), "FormatSpan is the inverse")
		require.Equal(t, w, parsed)
	}
	five := 5 * time.Minute
	w := MonitoringRules{AckWithin: &five, SilentAfter: &five}
	require.NoError(t, w.SetSilentAfter("silent", "hub"))
	require.Equal(t, map[string]any{"acknowledge-within": "5m", "pos-silent-after": "hub",
		"close-silent-stores": false}, w.Flags())
	for _, invalid := range []string{"", "5", "soon", "-5m", "9s", "25h", "10s1ms", "1e9h"} {
		require.Equal(t, core.Invalid, core.CodeOf(w.SetAckWithin("ack", invalid)), invalid)
		require.Equal(t, five, *w.AckWithin)
	}
	require.ErrorContains(t, w.SetSilentAfter("silent", "30s"),
		"silent: must be hub, 0 or whole seconds between 1m0s and 168h0m0s")
}
