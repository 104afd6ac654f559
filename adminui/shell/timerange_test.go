package shell

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestTimeRangesFollowTheZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	now := time.Date(2026, 11, 2, 3, 30, 0, 0, time.UTC) // 1 Nov 22:30, the day of the change to winter time
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, zone) }
	for query, want := range map[string]TimeRange{
		"":                               {Preset: "24h", From: now.Add(-24 * time.Hour)},
		"when=any":                       {Preset: AnyTime},
		"when=15m":                       {Preset: "15m", From: now.Add(-15 * time.Minute)},
		"when=today":                     {Preset: "today", From: at(1, 0)},
		"when=yesterday":                 {Preset: "yesterday", From: at(0, 0), To: at(1, 0)},
		"when=7d":                        {Preset: "7d", From: now.Add(-7 * 24 * time.Hour)},
		"from=2026-11-01T01:00":          {From: at(1, 1)},
		"when=today&to=2026-11-01T12:00": {To: at(1, 12)},
		"from=2026-11-01T01:00-05:00":    {From: at(1, 1).Add(time.Hour)}, // the second of that day
		"to=2026-11-01T12:00Z":           {To: at(1, 7)},
		"from=2026-11-01T00:00&to=2026-11-02T00:00": {From: at(1, 0), To: at(2, 0)},
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		got, err := ParseTimeRange(values.Get, now, zone, "24h")
		require.NoError(t, err, query)
		require.True(t, want.From.Equal(got.From), "%s: from %v, not %v", query, got.From, want.From)
		require.True(t, want.To.Equal(got.To), "%s: to %v, not %v", query, got.To, want.To)
		require.Equal(t, want.Preset, got.Preset, query)
	}
	for _, query := range []string{"when=2h", "from=yesterday", "to=12:00",
		"from=0000-01-01T00:00", "from=2026-11-01T12:00-x", "to=1969-12-31T23:59",
		"from=2026-11-01T03:00&to=2026-11-01T03:00"} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = ParseTimeRange(values.Get, now, zone, AnyTime)
		require.Equal(t, core.Invalid, core.CodeOf(err), query)
	}
}
