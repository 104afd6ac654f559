package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres/followups"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// useKey replaces the customer key of the business, and makes the intake read it.
func (c *customerHarness) useKey(key []byte) {
	c.t.Helper()
	pgtest.Exec(c.t, c.db, `UPDATE businesses SET customer_key = ?, name = name || '.' WHERE id = ?`, key, c.business)
}

func TestOrdersWithoutHashesAreFoundAfterBackfill(t *testing.T) {
	c := newCustomerHarness(t)
	ctx := context.Background()
	var key []byte
	pgtest.Row(t, c.db, &key, `SELECT customer_key FROM businesses WHERE id = ?`, c.business)
	before, subject := c.order("b", person(canaryPhone)), c.search(canaryPhone)
	c.complete(before)
	c.useKey([]byte("not a sealed key"))
	without := c.order("b", person(canaryPhone))
	c.complete(without)
	require.NoError(t, c.store.Backfill(ctx), "it skips a business whose key cannot be opened")
	var unknown int
	pgtest.Row(t, c.db, &unknown, `SELECT count(*) FROM orders WHERE customer_hashes IS NULL`)
	require.Equal(t, 1, unknown)

	c.erase(subject)
	c.clock.Advance(time.Minute)
	require.NoError(t, c.store.Erase(ctx))
	require.Equal(t, 1, c.erasures()[0].Erased)
	require.True(t, c.erasures()[0].DoneAt.IsZero(), "it waits for the orders of unknown customers")

	c.useKey(key)
	require.NoError(t, c.store.Backfill(ctx))
	require.Equal(t, []int64{without}, c.found(canaryPhone))
	require.NoError(t, c.store.Erase(ctx))
	require.Equal(t, 2, c.erasures()[0].Erased)
	require.False(t, c.erasures()[0].DoneAt.IsZero())
	require.Empty(t, leaks(t, c.db))
}

func TestChangeWithoutCustomerKeyIsBackfilled(t *testing.T) {
	c := newCustomerHarness(t)
	ctx := context.Background()
	var key []byte
	pgtest.Row(t, c.db, &key, `SELECT customer_key FROM businesses WHERE id = ?`, c.business)
	id := c.order("b", person(canaryPhone))
	change := func(change, phone string) error {
		c.clock.Advance(time.Second)
		_, err := followups.New(c.db, c.riders).Apply(ctx, c.business, order.FollowUp{Platform: "b",
			PlatformOrderID: "R-1", Update: &order.Update{ChangeID: change, Order: []byte(fmt.Sprintf(
				`{"platform":"b","platform_order_id":"R-1","store_ref_id":"-","items":[%s],"customer":{"phone":%q}}`,
				oneCurry, phone))}})
		return err
	}
	c.useKey([]byte("not a sealed key"))
	require.NoError(t, change("c-1", "(415) 555-1111"))
	c.useKey(key)
	require.NoError(t, change("c-2", "(415) 555-2222"))
	require.NoError(t, c.store.Backfill(ctx))
	for _, phone := range []string{canaryPhone, "(415) 555-1111", "(415) 555-2222"} {
		require.Equal(t, []int64{id}, c.found(phone), phone)
	}
	require.Empty(t, c.found("(415) 555-3333"))
}

func TestExtentOfACustomerIsBounded(t *testing.T) {
	c := newCustomerHarness(t)
	c.order("b", person(canaryPhone))
	pgtest.Exec(t, c.db, `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state,
			is_bulk_order, delivery_type, flags, events, placed_event, placed_by, created_at, updated_at,
			customer_hashes)
		SELECT business_id, n, platform, 'N-' || n, store_id, state, false, delivery_type, 0, 1, placed_event, '',
			created_at, updated_at, customer_hashes
		FROM orders, generate_series(1000001, 1000200) n`)
	extent, err := c.store.CustomerExtent(context.Background(), c.business, c.search(canaryPhone))
	require.NoError(t, err)
	require.Equal(t, customer.MaxCounted, extent.Orders)
	require.True(t, extent.More)
}
