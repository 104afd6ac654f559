package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestActiveWebhooksPerEventTypeAreLimited(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	tenant, other := hubtest.Business(t, db), hubtest.Business(t, db)
	var first webhook.Subscription
	for n := range webhook.MaxActive {
		first = hubtest.Subscribe(t, db, tenant.ID, core.OrderPlaced, fmt.Sprintf("https://pos.example.com/%d", n))
	}
	records := webhooksdb.New(db)
	create := func(url string) error {
		_, err := records.Upsert(ctx, tenant.ID, "key:pos", []webhook.Key{{EventType: core.OrderPlaced, URL: url}},
			func(_ int, existing *webhook.Subscription) (webhook.Subscription, error) {
				if existing == nil {
					existing = &webhook.Subscription{Business: tenant.ID, EventType: core.OrderPlaced, URL: url,
						Active: true, Units: webhook.Minutes}
				}
				return *existing, nil
			})
		return err
	}
	switched := func(on bool) error {
		return records.Change(ctx, tenant.ID, "key:pos", first.ID, func(sub *webhook.Subscription) error {
			sub.Active = on
			return nil
		})
	}

	err := create("https://pos.example.com/more")
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.ErrorContains(t, err, "100 active webhooks of the event_type order_placed")
	require.NoError(t, create(first.URL), "existing webhooks may be changed")
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, first.URL)
	hubtest.Subscribe(t, db, other.ID, core.OrderPlaced, first.URL)

	require.NoError(t, switched(false))
	require.NoError(t, create("https://pos.example.com/more"))
	require.Equal(t, core.Conflict, core.CodeOf(switched(true)))
}

func TestAllWebhooksOfABusinessAreLimited(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	tenant, other := hubtest.Business(t, db), hubtest.Business(t, db)
	subs := webhook.Subscriptions{Store: webhooksdb.New(db), Guard: webhook.NewGuard(nil), Clock: db.Clock()}
	first := hubtest.Subscribe(t, db, tenant.ID, core.OrderPlaced, "https://pos.example.com/first")
	_, err := db.Bun().ExecContext(ctx, `INSERT INTO webhooks (business_id, event_type, url, active,
			retrial_interval_units, headers, header_names, secret, created_at, updated_at)
		SELECT business_id, event_type, url || n, false, retrial_interval_units, headers, header_names, secret,
			created_at, updated_at
		FROM webhooks, generate_series(1, ?) n WHERE id = ?`, webhook.MaxWebhooks-3, first.ID)
	require.NoError(t, err)
	inactive := false
	input := func(event core.EventType, path string) webhook.Input {
		url := "https://pos.example.com/" + path
		return webhook.Input{EventType: event, URL: &url, Active: &inactive}
	}
	create := func(business core.BusinessID, inputs ...webhook.Input) error {
		_, err := subs.CreateAll(ctx, business, "key:pos", inputs)
		return err
	}
	a, b, c := input(core.StoreCreation, "a"), input(core.InventoryUpdate, "b"), input(core.OrderPlaced, "c")

	err = create(tenant.ID, a, b, c)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.ErrorContains(t, err, "webhooks[2]: the business has 2000 webhooks")
	require.NoError(t, create(tenant.ID, a, b))
	require.NoError(t, create(tenant.ID, a, input(core.OrderPlaced, "first")), "existing webhooks may be changed")
	require.Equal(t, core.Conflict, core.CodeOf(create(tenant.ID, a, c)))
	require.NoError(t, create(other.ID, c))
	require.NoError(t, subs.Update(ctx, tenant.ID, "key:pos", first.ID, webhook.Input{URL: c.URL}))
}

func TestConcurrentBulkCreationsDoNotDeadlock(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	subs := webhook.Subscriptions{Store: webhooksdb.New(db), Guard: webhook.NewGuard(nil), Clock: db.Clock()}
	var inputs []webhook.Input
	for _, event := range []core.EventType{core.OrderPlaced, core.StoreCreation, core.InventoryUpdate} {
		for n := range 5 {
			url := fmt.Sprintf("https://pos.example.com/%d", n)
			inputs = append(inputs, webhook.Input{EventType: event, URL: &url})
		}
	}
	var running errgroup.Group
	for n := range 8 {
		shuffled := slices.Clone(inputs)
		rand.New(rand.NewPCG(uint64(n), 0)).Shuffle(len(shuffled),
			func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		running.Go(func() error {
			for range 3 {
				if _, err := subs.CreateAll(context.Background(), tenant.ID, "key:pos", shuffled); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, running.Wait())
	_, total, err := webhooksdb.New(db).List(context.Background(), tenant.ID, 1, 0)
	require.NoError(t, err)
	require.Equal(t, len(inputs), total)
}
