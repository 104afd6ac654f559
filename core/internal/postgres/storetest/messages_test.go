package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/messages"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

func TestStoredRequestOutlivesTheReplicaThatFetchesIt(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	store, calls := messages.New(db), callsOf(db)
	in := relay.InboundRequest{Caller: relay.Caller{Business: hubtest.Business(t, db).ID, Platform: "linked"},
		Kind: "events", Query: map[string]string{"a": "1"}, Headers: map[string]string{"x-text": "\xff"},
		Body: []byte("\x00\xff{}"), ReceivedAt: clock.Now()}
	require.NoError(t, store.Add(t.Context(), in, "L-1"))
	repeat := in
	repeat.Headers, repeat.ReceivedAt = map[string]string{"x-text": "other"}, clock.Now().Add(time.Second)
	require.NoError(t, store.Add(t.Context(), repeat, "L-1"))
	changed := in
	changed.Body = []byte("later")
	require.NoError(t, store.Add(t.Context(), changed, "L-1"))
	for range 2 { // without the id of an order, requests do not wait for each other
		require.NoError(t, store.Add(t.Context(), in, ""))
	}

	claim := func() (bodies []string) {
		until := clock.Now().Add(30 * time.Second)
		batch, err := calls.Claim(t.Context(), core.NewID(clock.Now()), queue.Capacity{Items: 9, OtherKeys: 9}, until)
		require.NoError(t, err)
		for _, call := range batch.Items {
			require.Equal(t, relay.InboundFetch, call.Kind)
			stored, err := store.Request(call)
			require.NoError(t, err)
			bodies = append(bodies, string(stored.Body))
			if call.OrderingKey == relay.InboundKey("linked", "L-1") {
				require.Equal(t, in.Query, stored.Query)
				require.Equal(t, "\uFFFD", stored.Headers["x-text"])
				require.Equal(t, in.Kind, stored.Kind)
			}
		}
		return bodies
	}
	first := []string{"\x00\xff{}", "\x00\xff{}", "\x00\xff{}"}
	require.Equal(t, first, claim(), "one of the order L-1, and two others")
	require.Empty(t, claim(), "another replica")
	for range 2 {
		require.NoError(t, store.Add(t.Context(), repeat, "L-1"))
		var waiting int
		require.NoError(t, db.Bun().QueryRowContext(t.Context(),
			`SELECT count(*) FROM calls WHERE ordering_key = ?`, relay.InboundKey("linked", "L-1")).Scan(&waiting))
		require.Equal(t, 3, waiting, "the fetch under way may have read older content")
	}
	clock.Advance(31 * time.Second) // the first replica was killed
	require.Equal(t, first, claim())
}

// linked returns a request with only a link, and a function that counts those of the order L-1 that wait.
func linked(t *testing.T, clock core.Clock, db *postgres.DB) (in relay.InboundRequest, waiting func() int) {
	t.Helper()
	in = relay.InboundRequest{Caller: relay.Caller{Business: hubtest.Business(t, db).ID, Platform: "linked"},
		Kind: "events", Query: map[string]string{"a": "1"}, ReceivedAt: clock.Now()}
	return in, func() (n int) {
		pgtest.Row(t, db, &n, `SELECT count(*) FROM calls WHERE ordering_key = ?0 AND state = 'waiting'`,
			relay.InboundKey("linked", "L-1"))
		return n
	}
}

func TestRepeatIsFoundWithoutReadingWaitingRequests(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	store := messages.New(db)
	in, waiting := linked(t, clock, db)
	differing := []relay.InboundRequest{in, in, in, in}
	differing[1].Kind = "orders"
	differing[2].Body = []byte("1")
	differing[3].Query = map[string]string{"a": "1", "b": ""}
	for _, request := range differing {
		require.NoError(t, store.Add(t.Context(), request, "L-1"))
	}
	pgtest.Exec(t, db, `UPDATE calls SET payload = 'unreadable' WHERE ordering_key = ?0`,
		relay.InboundKey("linked", "L-1"))
	for _, request := range differing {
		require.NoError(t, store.Add(t.Context(), request, "L-1"))
	}
	require.Equal(t, len(differing), waiting())
}

func TestWaitingRequestsOfOneOrderAreBounded(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	store := messages.New(db)
	in, waiting := linked(t, clock, db)
	require.NoError(t, store.Add(t.Context(), in, "L-1"))
	pgtest.Exec(t, db, `INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor,
			state, created_at)
		SELECT business_id, gen_random_uuid(), ordering_key, kind, platform, order_id, payload, actor, state, created_at
		FROM calls, generate_series(2, 200) WHERE ordering_key = ?0`, relay.InboundKey("linked", "L-1"))
	other := in
	other.Body = []byte("other")
	err := store.Add(t.Context(), other, "L-1")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "200 requests about this order wait")
	require.NoError(t, store.Add(t.Context(), in, "L-1"), "a repeat of one that waits")
	require.NoError(t, store.Add(t.Context(), other, "L-2"), "another order")
	require.Equal(t, 200, waiting())
	pgtest.Exec(t, db, `UPDATE calls SET state = 'done' WHERE request_digest IS NULL`)
	require.NoError(t, store.Add(t.Context(), other, "L-1"))
	require.Equal(t, 2, waiting())
}
