package consolelists

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// OrderRevisions returns the changes of an order at its platform, the earliest first.
func (c Store) OrderRevisions(ctx context.Context, business core.BusinessID,
	id int64) ([]console.OrderRevision, error) {
	type row struct {
		console.OrderRevision
		changes, body []byte
	}
	rows, err := postgres.Collect(ctx, c.db.Tenant(business), "reading changes of an order", func(r *row) []any {
		return []any{&r.ChangeID, &r.Reason, &r.Note, &r.changes, &r.Actor, &r.At, &r.body}
	}, bun.SafeQuery(queries.With("order_revisions", postgres.Args{"business": business, "order": id})))
	if err != nil {
		return nil, err
	}
	list := make([]console.OrderRevision, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.changes, &r.Changes, core.UnboundedAmounts()); err != nil {
			return nil, fmt.Errorf("reading a change of an order: %w", err)
		}
		if r.body != nil {
			if r.Body, err = c.db.Decompress(r.body); err != nil {
				return nil, err
			}
		}
		list[i] = r.OrderRevision
	}
	return list, nil
}

// PlacedOrder returns the content of an order when it was placed.
func (c Store) PlacedOrder(ctx context.Context, business core.BusinessID, id int64) ([]byte, error) {
	var stored []byte
	if err := c.db.Tenant(business).QueryRowContext(ctx, queries.With("placed_order", postgres.Args{
		"business": business, "order": id})).Scan(&stored); err != nil {
		return nil, fmt.Errorf("reading a placed order: %w", err)
	}
	return c.db.Decompress(stored)
}
