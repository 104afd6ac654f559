package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	publishing "github.com/servery-hub/servery/core/publish"
)

func TestChangeWaitsForItsPublicationsOutcome(t *testing.T) {
	p := newPublishHarness(t)
	source := menus.NewMenuSource(p.db)
	change := func(price int) core.ID {
		reference := p.enqueue(core.MenuJob, "s2", fmt.Sprintf(`{"items":[{"ref_id":"rice","price":%d}]}`, price),
			false)
		require.NoError(t, p.runJobs())
		return reference
	}
	one := func(work []publishing.Work) publishing.Work {
		for _, w := range work {
			if w.Platform == "a" {
				return w
			}
		}
		require.FailNow(t, "s2/a is not claimed")
		return publishing.Work{}
	}
	first, second := change(8), change(9)
	p.clock.Advance(2 * time.Second)
	claimed, _ := p.claim(me)
	work := one(claimed)
	require.Equal(t, []core.ID{first, second}, work.PendingRequests)

	// A change stored before the menu is read is included in the publication.
	carried := change(10)
	s, err := source.Read(t.Context(), p.business, p.storeID("s2"), "a")
	require.NoError(t, err)
	require.Equal(t, []core.ID{first, second, carried}, s.Waiting)
	after := change(11)
	result := p.published(work)
	result.PendingRequests = s.Waiting
	p.finish(me, result)

	p.clock.Advance(2 * time.Second)
	claimed, _ = p.claim(me)
	work = one(claimed)
	require.Equal(t, []core.ID{after}, work.PendingRequests, "a reported reference is removed")
	require.NoError(t, p.queue.Release(t.Context(), me, work))
	claimed, _ = p.claim(other)
	require.Equal(t, []core.ID{after}, one(claimed).PendingRequests, "a released publication can be claimed at once")
	require.Equal(t, []byte("now"), one(claimed).Digest, "the digest is kept")
	require.NoError(t, p.queue.Release(t.Context(), me, one(claimed)))
	claimed, _ = p.claim(me)
	require.Empty(t, claimed, "only the owner releases a publication")
}

func TestOnlyTheLatestHundredWaitingChangesAreKept(t *testing.T) {
	p := newPublishHarness(t)
	pgtest.Exec(t, p.db,
		`UPDATE publications SET pending_references = ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 100))`)
	latest := p.enqueue(core.MenuJob, "s2", `{"items":[{"ref_id":"rice","price":8}]}`, false)
	require.NoError(t, p.runJobs())
	p.clock.Advance(2 * time.Second)
	claimed, _ := p.claim(me)
	require.Len(t, claimed, 2)
	for _, w := range claimed {
		require.Len(t, w.PendingRequests, 100)
		require.Equal(t, latest, w.PendingRequests[99])
	}
}
