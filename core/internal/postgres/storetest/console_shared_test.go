package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

func TestOneBusinessDoesNotFillTheProblemList(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	read := consoleview.New(db)
	lists := consolelists.New(db)
	many, other := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	now := clock.Now()
	var tally console.AttemptCounter
	fails := func(business core.BusinessID, minutes int) {
		sub := hubtest.Subscribe(t, db, business, core.OrderPlaced, fmt.Sprintf("https://pos-%d.example/", minutes))
		tally.Count(console.Attempt{Business: business, Webhook: sub.ID, At: now, Class: "connect"})
		at := now.Add(-time.Duration(minutes) * time.Minute)
		pgtest.Exec(t, db,
			`INSERT INTO jobs (business_id, id, kind, state, body, created_at) VALUES (?, ?, 'menu', 'failed', '', ?)`,
			business, core.NewID(at), at)
	}
	for minutes := range 5 {
		fails(many, minutes)
	}
	fails(other, 60)
	require.NoError(t, read.AddSums(t.Context(), tally.Take()))
	businesses := []core.BusinessID{many, other}
	found, err := read.UnhealthyEndpoints(t.Context(), businesses, 3)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Equal(t, other, found[2].Business, "the last that was subscribed")
	failed, err := lists.FailedJobs(t.Context(), businesses, now.Add(-24*time.Hour), 3)
	require.NoError(t, err)
	require.Len(t, failed, 3)
	require.Equal(t, []core.BusinessID{many, other, many},
		[]core.BusinessID{failed[0].Business, failed[1].Business, failed[2].Business})
}

func TestSearchReadsOneMoreHitThanIsShown(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	business := hubtest.Business(t, db).ID
	for n := range console.HitsShown + 2 {
		hubtest.Subscribe(t, db, business, core.OrderPlaced, fmt.Sprintf("https://pos.example/%d", n))
	}
	hits, err := consoleview.New(db).Search(t.Context(), []core.BusinessID{business}, "pos.example")
	require.NoError(t, err)
	require.Len(t, hits, console.HitsShown+1)
}

func TestSearchFindsUUIDsOfOtherSystems(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	ids := make([]string, 6)
	for n := range ids {
		ids[n] = core.NewID(db.Clock().Now().Add(time.Duration(n) * time.Second)).String()
	}
	k.store(ids[0])
	k.send("-1", fmt.Sprintf(`{"items":[{"ref_id":"curry","title":"Curry","price":1},
		{"ref_id":%q,"title":"Rice","price":1}]}`, ids[1]))
	k.send("s1", `{"items":[{"ref_id":"curry","price":5}]}`)
	hexadecimal := strings.ReplaceAll(ids[2], "-", "")
	_, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, db), k.arrival(hexadecimal, "web", oneCurry, ""))
	require.NoError(t, failures[0])
	pgtest.Exec(t, db, `UPDATE orders SET reference = ? WHERE business_id = ?`, ids[3], k.business)
	require.NoError(t, orders.New(db).RecordRejected(t.Context(), order.Rejection{Business: k.business,
		Platform: "web", PlatformOrderID: ids[4], Store: ids[5]}))
	for text, kind := range map[string]string{ids[0]: "store", ids[1]: "item", hexadecimal: "order", ids[3]: "order",
		ids[4]: "refused", ids[5]: "refused at"} {
		hits, err := consoleview.New(db).Search(t.Context(), []core.BusinessID{k.business}, text)
		require.NoError(t, err)
		require.Len(t, hits, 1, kind)
		require.Equal(t, kind, hits[0].Kind)
	}
}

func TestSearchReturnsAnOrderFoundTwiceOnce(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	k.send("-1", `{"items":[{"ref_id":"curry","title":"Curry","price":1}]}`)
	k.send("s1", `{"items":[{"ref_id":"curry","price":5}]}`)
	receipts, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, db), k.arrival("A-1", "web", oneCurry, ""))
	require.NoError(t, failures[0])
	call := core.NewID(db.Clock().Now())
	pgtest.Exec(t, db, `INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor,
		state, created_at) VALUES (?, ?, 'order:1', 'order_status', 'web', ?, '{}', 'hub', 'done', now())`, k.business,
		call, receipts[0].OrderID)
	pgtest.Exec(t, db, `UPDATE orders SET reference = ? WHERE business_id = ?`, call, k.business)
	hits, err := consoleview.New(db).Search(t.Context(), []core.BusinessID{k.business}, call.String())
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, []string{"order", fmt.Sprint(receipts[0].OrderID)}, []string{hits[0].Kind, hits[0].ID})
}
