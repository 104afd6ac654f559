package access

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Business returns a business, or NotFound.
func (a Store) Business(ctx context.Context, id core.BusinessID) (core.Business, error) {
	b := core.Business{ID: id}
	err := a.db.Tenant(id).QueryRowContext(ctx,
		`SELECT name, country, timezone, currency, created_at FROM businesses WHERE id = ?`, id).
		Scan(&b.Name, &b.Country, &b.Timezone, &b.Currency, &b.CreatedAt)
	if err != nil {
		return b, postgres.NotFound(fmt.Errorf("reading the business: %w", err), "there is no business %d", id)
	}
	return b, nil
}
