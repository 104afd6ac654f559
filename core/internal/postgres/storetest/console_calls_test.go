package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// requireOnlyFirstFailed requires that of waiting calls only the first one has failed, and that the others wait for it.
func requireOnlyFirstFailed(t *testing.T, calls ...console.Call) {
	t.Helper()
	for i, call := range calls {
		require.Equal(t, "waiting", call.State)
		require.Equal(t, map[bool]string{true: "status 500"}[i == 0], call.Message)
		require.Equal(t, i > 0, call.NextAt.IsZero())
		require.Equal(t, i > 0, call.EarlierWaits)
	}
}

func TestCallsThatWaitForAnotherHaveNotFailed(t *testing.T) {
	d := newRiderHarness(t)
	id, read := d.order("b", ""), consolelists.New(d.db)
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	for _, status := range []order.RiderStatus{order.AtStore, order.OutForDelivery} {
		require.NoError(t, d.send(id, status, order.Rider{}))
	}
	claimed := d.claim(me)
	require.Len(t, claimed, 1)
	d.finish(me, d.retried(claimed[0], 8*time.Second))
	calls, err := read.CallsOfOrder(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Len(t, calls, 3)
	requireOnlyFirstFailed(t, calls...)
	rows, err := read.ListCalls(t.Context(), d.business, console.CallFilter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	requireOnlyFirstFailed(t, rows[2].Call, rows[1].Call, rows[0].Call)

	d.clock.Advance(8 * time.Second)
	d.finish(me, d.done(d.claim(me)[0]))
	calls, err = read.CallsOfOrder(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true}, []bool{calls[0].EarlierWaits, calls[1].EarlierWaits,
		calls[2].EarlierWaits})
}

func TestStoreCallsThatWaitHaveNotFailed(t *testing.T) {
	s := newSwitchHarness(t)
	for _, open := range []bool{false, true} {
		s.switchStore("s1", open, time.Time{}, "a")
		s.clock.Advance(time.Second)
	}
	owner := core.NewID(s.clock.Now())
	claimed := s.claimed(owner)
	require.Len(t, claimed, 1)
	require.NoError(t, s.calls.Finish(t.Context(), owner, []relay.Result{{Call: claimed[0], State: relay.Waiting,
		Message: "status 500", FinishedAt: s.clock.Now(), RetryAt: s.clock.Now().Add(time.Minute),
		Attempt: &relay.Attempt{StartedAt: s.clock.Now(), Status: 500}}}))
	calls, err := consolelists.New(s.db).CallsOfStore(t.Context(), s.business, s.storeID("s1"), 9)
	require.NoError(t, err)
	require.Len(t, calls, 2)
	requireOnlyFirstFailed(t, calls...)
}
