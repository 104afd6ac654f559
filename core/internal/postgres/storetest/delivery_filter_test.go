package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/webhook"
)

func TestDeliveriesAreFoundByFailureAndStatus(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(1)
	created := c.clock.Now()
	owner, claimed, _ := c.claim()
	c.clock.Advance(time.Hour)
	c.end(webhook.Failed, owner, claimed...)
	c.publish(1)
	owner, delivered, _ := c.claim()
	c.end(webhook.Delivered, owner, delivered...)
	c.publish(1)
	owner, waiting, _ := c.claim()
	c.respond(503, owner, waiting...)

	find := func(f webhook.Filter) (ids []core.ID) {
		f.Limit = 9
		list, err := c.queue.List(t.Context(), c.business, f)
		require.NoError(t, err)
		for _, d := range list {
			ids = append(ids, d.ID)
		}
		return ids
	}
	failed := []core.ID{claimed[0].ID}
	around := webhook.Filter{From: created.Add(-time.Minute), To: created.Add(time.Minute)}
	require.Equal(t, failed, find(around))
	around.OfFailure, around.State = true, webhook.Failed
	require.Empty(t, find(around), "it failed an hour later")
	around.From, around.To = around.From.Add(time.Hour), around.To.Add(time.Hour)
	require.Equal(t, failed, find(around))
	require.Equal(t, []core.ID{waiting[0].ID}, find(webhook.Filter{Status: 503}),
		"of the last attempt, also a waiting one")
	require.Equal(t, failed, find(webhook.Filter{Status: 404}))
	require.Empty(t, find(webhook.Filter{Status: 418}))

	selector := webhook.Selector{State: webhook.Failed, To: c.clock.Now().Add(time.Hour), EndedBy: around.To}
	count := func() int {
		n, err := deliveries.New(c.db).Count(t.Context(), c.business, selector)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, count())
	selector.EndedFrom = around.To
	require.Zero(t, count())
	selector.EndedFrom, selector.Status = around.From, 404
	require.Equal(t, 1, count())
	selector.Status = 418
	require.Zero(t, count())
}
