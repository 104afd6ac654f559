package availability

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// Unavailable returns the unavailable items and options of a store on a platform (aggregator.Availability).
func (t Store) Unavailable(ctx context.Context, business core.BusinessID, store int64, platform string,
	limit int) (items, options []string, err error) {
	type row struct {
		kind menu.Kind
		name string
	}
	rows, err := postgres.Collect(ctx, t.db.Tenant(business), "reading unavailable items", func(r *row) []any {
		return []any{&r.kind, &r.name}
	}, bun.SafeQuery(queries.With("unavailable", postgres.Args{
		"business": business, "store": store, "platform": platform, "limit": limit,
	})))
	for _, r := range rows {
		if r.kind == menu.Items {
			items = append(items, r.name)
		} else {
			options = append(options, r.name)
		}
	}
	return items, options, err
}
