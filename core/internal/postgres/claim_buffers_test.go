package postgres_test

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
)

var bufferHits = regexp.MustCompile(`Buffers: shared hit=(\d+)`)

// A thousand endpoints have deliveries that wait for their next attempt.
func TestClaimReadsLittleOfEndpointsThatWait(t *testing.T) {
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
		require.Less(t, hits, 6*endpoints, plan)
	}
	require.Equal(t, 2, claims, "the claim and the next due time")
}
