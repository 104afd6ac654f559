package postgres

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
)

// Business reads a business; NotFound where there is none.
func (db *DB) Business(ctx context.Context, id core.BusinessID) (core.Business, error) {
	b := core.Business{ID: id}
	err := db.of(id).QueryRowContext(ctx, `SELECT name, country, timezone, currency, created_at FROM businesses WHERE id = ?`, id).
		Scan(&b.Name, &b.Country, &b.Timezone, &b.Currency, &b.CreatedAt)
	if err != nil {
		return b, notFound(fmt.Errorf("reading the business: %w", err), "there is no business %d", id)
	}
	return b, nil
}
