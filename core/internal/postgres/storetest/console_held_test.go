package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestHeldFiguresMatchTheDeliveryList(t *testing.T) {
	c := newDeliveryHarness(t)
	read := consoleview.New(c.db)
	agree := func(held, waiting int) {
		t.Helper()
		require.Len(t, c.held(), held)
		figures, err := read.Figures(t.Context(), []core.BusinessID{c.business}, c.clock.Now())
		require.NoError(t, err)
		one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
		require.NoError(t, err)
		require.Equal(t, []int{held, waiting, held, waiting},
			[]int{figures.Held, figures.Waiting, one.Held, one.Waiting})
	}
	turn := func(active bool) {
		require.NoError(t, webhooksdb.New(c.db).Change(t.Context(), c.business, "test", c.sub.ID,
			func(s *webhook.Subscription) error {
				s.Active = active
				return nil
			}))
	}
	c.openCircuit()
	agree(12, 0)
	require.NoError(t, c.queue.Retry(t.Context(), c.business, c.held()[0].ID))
	agree(11, 1)
	turn(false)
	agree(12, 0)
	turn(true)
	agree(0, 12)
}

func TestResentDeliveryKeepsItsEarlierAttempts(t *testing.T) {
	c := newDeliveryHarness(t)
	c.fail(1)
	ended, err := c.queue.List(t.Context(), c.business, webhook.Filter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.NoError(t, c.queue.Retry(t.Context(), c.business, ended[0].ID))
	owner, again, _ := c.claim()
	c.respond(500, owner, again...)
	d, _, err := c.queue.Get(t.Context(), c.business, ended[0].ID)
	require.NoError(t, err)
	require.Equal(t, []any{1, 2, webhook.Status}, []any{d.AttemptsBeforeRestart, d.Attempts, d.LastClass})
}

func TestChangeTokenFollowsMenuPublications(t *testing.T) {
	p := newPublishHarness(t)
	token := func() string {
		t.Helper()
		value, err := consoleview.New(p.db).ChangeToken(t.Context(), p.business)
		require.NoError(t, err)
		return value
	}
	before := token()
	require.Equal(t, before, token())
	p.clock.Advance(time.Second)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(time.Minute)
	owner := core.NewID(p.clock.Now())
	work, _ := p.claim(owner)
	require.NotEmpty(t, work)
	markedToken := token()
	require.NoError(t, p.queue.Finish(t.Context(), owner, p.published(work[0]), nil))
	require.NotEqual(t, markedToken, token())
}
