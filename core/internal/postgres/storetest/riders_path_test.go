package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
)

func TestRiderPathKeepsALocationEachHalfMinute(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	read := consolelists.New(d.db)
	for n := range 12 {
		d.clock.Advance(10 * time.Second)
		require.NoError(t, d.place(id, fmt.Sprintf("12.%02d", n)))
	}
	at, err := read.RiderLocation(t.Context(), d.business, id)
	require.NoError(t, err)
	require.True(t, at.SentAt.IsZero())
	var latitudes []float64
	for _, p := range at.Path {
		latitudes = append(latitudes, p.Latitude)
	}
	require.Equal(t, []float64{12, 12.03, 12.06, 12.09, 12.11}, latitudes, "the last is the present one")
	require.InDelta(t, 30, at.Path[1].At.Sub(at.Path[0].At).Seconds(), 0.1)

	calls := d.claim(me)
	require.Len(t, calls, 1)
	sent := d.clock.Now()
	d.finish(me, d.done(calls[0]))
	d.clock.Advance(time.Minute)
	require.NoError(t, d.place(id, "13"))
	at, err = read.RiderLocation(t.Context(), d.business, id)
	require.NoError(t, err)
	require.WithinDuration(t, sent, at.SentAt, time.Second)

	for range 60 {
		d.clock.Advance(30 * time.Second)
		require.NoError(t, d.place(id, "13.123456789012345678"))
	}
	at, err = read.RiderLocation(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Greater(t, len(at.Path), 30)
	require.Less(t, len(at.Path), 60, "the oldest are dropped")
	require.InDelta(t, 13.123456789, at.Path[0].Latitude, 1e-8)
}
