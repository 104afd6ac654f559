package storetest

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

var bufferHits = regexp.MustCompile(`Buffers: shared hit=(\d+)`)

// A thousand endpoints have deliveries that wait for their next attempt.
func TestClaimReadsNothingOfEndpointsThatWait(t *testing.T) {
	const endpoints = 1000
	db := hubtest.Database(t, nil)
	pgtest.Exec(t, db, unchecked)
	pgtest.Exec(t, db, `INSERT INTO delivery_queue (business_id, id, event_id, event_type, webhook_id, endpoint, size,
			due_at, available_at, ordering_key, sequence)
		SELECT 1, gen_random_uuid(), gen_random_uuid(), 'order_placed', n % ?0, n % ?0, 100,
			now() + interval '1 hour', now() + interval '1 hour', 0, 0 FROM generate_series(1, 10 * ?0) n`, endpoints)
	pgtest.Exec(t, db, `VACUUM ANALYZE delivery_queue`)
	var log statementLog
	log.listen(db)
	batch, err := deliveries.New(db).Claim(context.Background(), core.ID{9}, claimUpTo(10, 1<<20),
		time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, batch.Items)
	claims := 0
	prepared := newPlans(t, db, log.statements)
	for _, one := range prepared.statements {
		if !strings.HasPrefix(one.text, "EXECUTE ") {
			continue
		}
		claims++
		var lines []string
		require.NoError(t, prepared.conns[one.pool].NewRaw("EXPLAIN (ANALYZE, BUFFERS) "+one.text).
			Scan(context.Background(), &lines))
		plan := strings.Join(lines, "\n")
		hits, err := strconv.Atoi(bufferHits.FindStringSubmatch(plan)[1])
		require.NoError(t, err)
		require.Less(t, hits, 150, plan)
		t.Logf("%d buffers: %.30s", hits, one.text)
	}
	require.Equal(t, 2, claims, "the claim and the next due time")
}

// The oldest deliveries are many of few endpoints, first a busy one.
func TestClaimFindsEndpointsBehindLongBacklogs(t *testing.T) {
	c := newDeliveryHarness(t)
	const backlog, items = 80, 16
	add := func(endpoint string, n int) {
		for range n {
			c.clock.Advance(time.Millisecond)
			publish(t, c.db, c.business, "https://"+endpoint+".example/", `{}`)
		}
	}
	add("busy", backlog)
	add("long", backlog)
	add("short", 1)
	claim := func(items int, busy ...int64) (map[string]int, queue.Batch[webhook.Delivery]) {
		batch, err := c.queue.Claim(context.Background(), core.ID{1}, webhook.Capacity{Bodies: 1 << 20,
			Capacity: queue.Capacity{Items: items, Busy: busy}}, c.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		got := map[string]int{}
		for _, d := range batch.Items {
			got[d.URL]++
		}
		return got, batch
	}
	got, first := claim(1)
	require.Equal(t, map[string]int{"https://busy.example/": 1}, got)
	require.NoError(t, c.queue.Release(context.Background(), core.ID{1}, first.Items))
	busy := first.Items[0].Endpoint
	got, _ = claim(items, busy)
	require.Equal(t, map[string]int{"https://long.example/": items / 2, "https://short.example/": 1}, got)
	due := c.clock.Now()
	c.clock.Advance(time.Second)
	got, batch := claim(2*backlog, busy)
	require.Equal(t, map[string]int{"https://long.example/": backlog - items/2}, got)
	require.True(t, batch.NextDue.After(due), "those that are leased, after the busy ones")
}

func TestClaimTakesRetriesAheadOfTheirTime(t *testing.T) {
	c := newDeliveryHarness(t)
	claim := func(ahead time.Duration) []webhook.Delivery {
		batch, err := c.queue.Claim(context.Background(), core.ID{1}, webhook.Capacity{Bodies: 1 << 20,
			Capacity: queue.Capacity{Items: 10, Ahead: ahead}}, c.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		return batch.Items
	}
	publish(t, c.db, c.business, "https://a.example/", `{}`)
	first := claim(0)
	require.Len(t, first, 1)
	due := c.clock.Now().Add(40 * time.Millisecond).Truncate(time.Microsecond)
	_, err := c.queue.Finish(context.Background(), core.ID{1}, []webhook.Result{{Delivery: first[0],
		State: webhook.Pending, RetryAt: due, Attempt: webhook.Attempt{StartedAt: c.clock.Now(), Status: 500}}},
		webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
	require.NoError(t, err)
	require.Empty(t, claim(0))
	require.Empty(t, claim(30*time.Millisecond))
	retries := claim(50 * time.Millisecond)
	require.Len(t, retries, 1)
	require.WithinDuration(t, due, retries[0].StartAt, 0)
	require.Empty(t, claim(2*time.Minute), "the lease ends in a minute, and is no retry")
}
