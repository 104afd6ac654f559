package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/polls"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
)

func TestPollRunsSinceItsDueTime(t *testing.T) {
	const day = 24 * time.Hour
	d := newRiderHarness(t)
	store := polls.New(d.db)
	require.NoError(t, store.Schedule(t.Context(), "aggregator-b", []poll.Declaration{{Name: "orders", Period: day}}))
	claim := func() relay.Call {
		t.Helper()
		d.clock.Advance(day)
		claimed := d.claim(me)
		require.Len(t, claimed, 1)
		return claimed[0]
	}
	first := claim()
	require.Equal(t, first.DueAt, first.Since)
	due := d.clock.Now().Add(day).Truncate(time.Microsecond)
	finish := func(state relay.State, at time.Time) {
		t.Helper()
		end := poll.End{Result: relay.Result{Call: first, State: state, FinishedAt: d.clock.Now()},
			Over: state != relay.Waiting}
		require.NoError(t, store.Finish(t.Context(), me, end, func(int) time.Time { return at }))
	}
	finish(relay.Done, due)
	first = claim()
	require.True(t, due.Equal(first.Since))
	finish(relay.Waiting, due.Add(time.Hour))
	again := claim()
	require.True(t, due.Equal(again.Since), "a delayed run stays the same")
	finish(relay.Done, due.Add(2*day))
	require.Equal(t, again.ID, claim().ID, "a lease that has ended does not end a later one")
}

func TestCallSentAgainWaitsADayFromThen(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, outbox.Run(t.Context(), d.db, func(tx bun.Conn, box *outbox.Outbox) error {
		return box.QueueCalls(t.Context(), tx, []outbox.Call{{Business: d.business, ID: core.NewID(d.clock.Now()),
			Kind: relay.OrderAcknowledge, OrderingKey: relay.OrderKey(id), Platform: "b", Order: id, At: d.clock.Now(),
			Payload: []byte("{}")}})
	}))
	claimed := d.claim(me)
	require.Len(t, claimed, 1)
	accepted := d.done(claimed[0])
	accepted.State, accepted.Outcome = relay.Pending, relay.Outcome{Task: "T", ExpiresAfter: time.Hour}
	d.finish(me, accepted)
	d.clock.Advance(time.Minute)
	_, err := d.calls.Settle(t.Context(), outcome.Task{Business: d.business, CallID: claimed[0].ID},
		outcome.Report{State: outcome.Retry})
	require.NoError(t, err)
	again := d.clock.Now()
	d.clock.Advance(time.Hour)
	claimed = d.claim(me)
	require.Len(t, claimed, 1)
	require.True(t, again.Equal(claimed[0].Since))
}
