package availability

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// Unavailable returns the unavailable items and options of a store on a platform (aggregator.Availability).
func (t Store) Unavailable(ctx context.Context, business core.BusinessID, store int64, platform string,
	limit int) (items, options []string, err error) {
	rows, err := t.db.Tenant(business).QueryContext(ctx, queries.With("unavailable", postgres.Args{
		"business": business, "store": store, "platform": platform, "limit": limit,
	}))
	if err != nil {
		return nil, nil, fmt.Errorf("reading unavailable items: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind menu.Kind
		var name string
		if err := rows.Scan(&kind, &name); err != nil {
			return nil, nil, fmt.Errorf("reading unavailable items: %w", err)
		}
		if kind == menu.Items {
			items = append(items, name)
		} else {
			options = append(options, name)
		}
	}
	return items, options, rows.Err()
}
