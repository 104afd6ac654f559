package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// TestChangeWaitsForACreationOfItsURL changes a webhook to the URL of one that is being created.
func TestChangeWaitsForACreationOfItsURL(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant, subs := hubtest.Business(t, db), webhooksdb.New(db)
	const url = "https://pos.example.com/new"
	first := hubtest.Subscribe(t, db, tenant.ID, core.OrderPlaced, "https://pos.example.com/old")
	reached, proceed, created := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := subs.Upsert(t.Context(), tenant.ID, "key:pos", []webhook.Key{{EventType: core.OrderPlaced, URL: url}},
			func(int, *webhook.Subscription) (webhook.Subscription, error) {
				close(reached) // it has found no webhook with the URL
				<-proceed
				return webhook.Subscription{Business: tenant.ID, EventType: core.OrderPlaced, URL: url, Active: true,
					Units: webhook.Minutes}, nil
			})
		created <- err
	}()
	<-reached
	changed := make(chan error, 1)
	go func() {
		changed <- subs.Change(t.Context(), tenant.ID, "key:pos", first.ID, func(sub *webhook.Subscription) error {
			sub.URL = url
			return nil
		})
	}()
	eventually(t, "the change waits or has ended", func() bool {
		return pgtest.HasWaiters(t, db) || len(changed) > 0
	})
	close(proceed)
	require.NoError(t, <-created)
	require.Equal(t, core.Conflict, core.CodeOf(<-changed))
}
