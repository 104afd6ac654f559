package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/relay"
)

func TestRecheckResumesUnlessTheRulesChanged(t *testing.T) {
	p := newPublishHarness(t)
	menus, jobs := menusdb.New(p.db), jobsdb.New(p.db)
	items, err := menus.ItemsAfter(t.Context(), p.business, 0, 100)
	require.NoError(t, err)
	again := func(work core.Job) core.Job {
		require.NoError(t, jobs.Retry(t.Context(), work, p.clock.Now(), "timeout"))
		claimed, _, err := jobs.Claim(t.Context(), core.ID{7}, 10, p.clock.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		return claimed[0]
	}
	storeProgress := func(work core.Job, body string) {
		_, err := menus.ReplaceFindings(t.Context(), work, menu.CheckedItems{Items: items}, []byte(body))
		require.NoError(t, err)
	}
	work := p.recheck("a")
	storeProgress(work, `{"after":5}`)
	work = again(work)
	require.JSONEq(t, `{"after":5}`, string(work.Body))

	items[0].UpdatedAt = items[0].UpdatedAt.Add(-time.Second)
	storeProgress(work, `{"after":6}`)
	work = again(work)
	require.JSONEq(t, `{"after":5}`, string(work.Body), "a changed item: the page is checked again")

	require.NoError(t, jobs.Retry(t.Context(), work, p.clock.Now(), "timeout"))
	require.NoError(t, platforms.New(p.db).Set(context.Background(), p.business,
		core.Platform{Name: "a", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Settings = []byte(`{}`)
			return nil
		}))
	claimed, _, err := jobs.Claim(t.Context(), core.ID{7}, 10, p.clock.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.JSONEq(t, `{}`, string(claimed[0].Body))
}
