package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
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
