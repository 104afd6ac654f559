package orders

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/order"
)

// trackedKey identifies an order.
type trackedKey struct {
	business core.BusinessID
	order    int64
}

// lockedOrder is an order that a transaction has locked.
type lockedOrder struct {
	order.Tracking        // without the statuses of its riders
	events         int    // their number
	servedBy       string // core.Platform.ServedBy
}

// lockOrders locks orders in key order. It omits those that do not exist.
func lockOrders(ctx context.Context, db *postgres.DB, tx bun.Conn,
	keys []trackedKey) (map[trackedKey]*lockedOrder, error) {
	businesses, ids := idsOf(keys)
	locked := make(map[trackedKey]*lockedOrder, len(keys))
	statement := postgres.Statement{Query: queries.Get("lock_orders"), Args: postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(ids),
	}}
	err := db.QueryPrepared(ctx, tx, statement, func(rows *sql.Rows) error {
		var key trackedKey
		o := &lockedOrder{}
		err := rows.Scan(&key.business, &key.order, &o.Platform, &o.EventAlias, &o.PlatformOrderID, &o.DeliveryMode,
			&o.State, &o.StoreID, &o.StoreRefID, &o.servedBy, &o.events)
		o.OrderID = key.order
		locked[key] = o
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("locking orders: %w", err)
	}
	return locked, nil
}

// idsOf returns the columns of keys.
func idsOf(keys []trackedKey) (businesses, orders []int64) {
	businesses, orders = make([]int64, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		businesses[i], orders[i] = int64(key.business), key.order
	}
	return businesses, orders
}
