package intake

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/order"
)

// PricedOrder is an order with its amounts, and the hashes of its customer as an array.
type PricedOrder struct {
	order.Relay
	Hashes string
}

// Price checks and prices the content of a stored order as that of a new one, with the present menu. It stores
// nothing.
func Price(ctx context.Context, db *postgres.DB, request order.PlaceRequest, id int64,
	placed time.Time) (PricedOrder, error) {
	b := &intakeBatch{ctx: ctx, db: db, in: db.Keyed(), settings: &cache.Cache[contextKey, storedContext]{Max: 1},
		cache: &menuCache{}, requests: []order.PlaceRequest{request},
		results: make([]batch.Result[order.PlaceResult], 1)}
	if err := b.read(); err != nil {
		return PricedOrder{}, err
	}
	p, err := b.priceOne(0, id, placed, placed)
	if err != nil {
		return PricedOrder{}, err
	}
	who := p.relay.Customer
	return PricedOrder{*p.relay, p.customers.Array(who.Name, who.Email, who.Phone)}, nil
}
