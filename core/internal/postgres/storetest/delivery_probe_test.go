package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// openAllCircuits opens the circuits of all webhooks, with the next probes due now.
func openAllCircuits(t *testing.T, db *postgres.DB) {
	t.Helper()
	pgtest.Exec(t, db,
		`INSERT INTO endpoint_circuits (business_id, endpoint, failures, since, at, status, error, probing_since,
			next_probe, pause_ms)
		SELECT business_id, id, 20, ?0, ?0, 0, '', ?0, ?0, 1000 FROM webhooks`, db.Clock().Now())
}

func TestClaimBoundsTheProbesOfManyCircuits(t *testing.T) {
	c := newDeliveryHarness(t)
	for range 9 {
		hubtest.Subscribe(t, c.db, hubtest.Business(t, c.db).ID, core.StoreCreation, "https://pos.example/")
	}
	pgtest.Exec(t, c.db, `INSERT INTO delivery_queue (business_id, id, event_id, event_type, webhook_id, endpoint,
			size, due_at, available_at, ordering_key, sequence)
		SELECT business_id, gen_random_uuid(), gen_random_uuid(), 'store_creation', id, id, 100, ?0, ?0, 0, 0
		FROM webhooks`, c.clock.Now())
	openAllCircuits(t, c.db)
	probed := func() (n int) {
		_, err := c.queue.Claim(t.Context(), core.NewID(c.clock.Now()), claimUpTo(4, 1<<20), c.clock.Now())
		require.NoError(t, err)
		pgtest.Row(t, c.db, &n, `SELECT count(*) FROM delivery_queue`)
		return 10 - n // their events are gone, so that a claim removes them
	}
	for _, n := range []int{2, 4, 6, 8, 10} {
		require.Equal(t, n, probed())
	}
}

func TestProbeOfALockedDeliveryStaysDue(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(1)
	openAllCircuits(t, c.db)
	exec, commit := pgtest.BeginOther(t, c.db)
	exec(`SELECT FROM delivery_queue FOR UPDATE`)
	_, none, _ := c.claim()
	require.Empty(t, none)
	commit()
	_, probe, _ := c.claim()
	require.Len(t, probe, 1)
	require.True(t, probe[0].Probe)
}

func TestRepeatedFailureCountsOnceForHealth(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(2)
	owner, claimed, _ := c.claim()
	require.Len(t, claimed, 2)
	for range 2 { // the response to the first COMMIT was lost
		c.respond(500, owner, claimed...)
	}
	var failures int
	pgtest.Row(t, c.db, &failures, `SELECT failures FROM endpoint_circuits`)
	require.Equal(t, 2, failures)
}
