package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
)

// Notices returns problems since the given time that keep requests and events of businesses
// from succeeding.
func (c Store) Notices(ctx context.Context, businesses []core.BusinessID,
	since time.Time) (n console.Notices, err error) {
	if err := c.db.Bun().NewRaw(queries.With("unrouted_events", postgres.Args{
		"businesses": postgres.Array(businesses), "since": since, "except": core.OrderPlaced, "limit": noticesShown,
	})).Scan(ctx, &n.Unrouted); err != nil {
		return n, fmt.Errorf("reading events without a receiver: %w", err)
	}
	if n.Revoked, err = accessdb.New(c.db).Keys(ctx, c.db.Bun(),
		`WHERE business_id = ANY (?) AND used_at > disabled_at AND used_at >= ? ORDER BY used_at DESC LIMIT ?`,
		postgres.Array(businesses), since, noticesShown); err != nil {
		return n, err
	}
	if err := c.db.Bun().NewRaw(`SELECT business_id AS business, count(*) AS count, min(created_at) AS since FROM orders
		WHERE business_id = ANY (?) AND escalated_at IS NOT NULL AND state = ? AND created_at > ? GROUP BY business_id
			ORDER BY 3 LIMIT ?`,
		postgres.Array(businesses), order.Placed, since, noticesShown).Scan(ctx, &n.Overdue); err != nil {
		return n, fmt.Errorf("reading unacknowledged orders: %w", err)
	}
	if err := c.db.Bun().NewRaw(queries.With("silent_stores", postgres.Args{
		"businesses": postgres.Array(businesses), "limit": noticesShown,
	})).Scan(ctx, &n.Silent); err != nil {
		return n, fmt.Errorf("reading silent stores: %w", err)
	}
	if err := c.db.Bun().NewRaw(queries.With("failed_menus", postgres.Args{
		"businesses": postgres.Array(businesses), "own": core.ServedByMerchant, "limit": noticesShown,
	})).Scan(ctx, &n.Menus); err != nil {
		return n, fmt.Errorf("reading rejected menus: %w", err)
	}
	if err := c.db.Bun().NewRaw(queries.With("closed_stores", postgres.Args{
		"businesses": postgres.Array(businesses), "listed_on": bun.Safe(publications.ListedOn), "limit": noticesShown,
	})).Scan(ctx, &n.Closed); err != nil {
		return n, fmt.Errorf("reading stores that are closed on platforms: %w", err)
	}
	if n.RejectedOrders, err = c.recentRejections(ctx, businesses); err != nil {
		return n, err
	}
	if n.Calls, err = c.failedCalls(ctx, businesses, since); err != nil {
		return n, err
	}
	if n.Unnotified, err = c.UnnotifiedOrders(ctx, businesses, since); err != nil {
		return n, err
	}
	if n.PartlyFailed, err = c.partlyFailedJobs(ctx, businesses, since); err != nil {
		return n, err
	}
	n.Throttled, err = c.throttled(ctx, businesses, since)
	return n, err
}

// throttled returns the throttles that have blocked businesses since the given time.
func (c Store) throttled(ctx context.Context, businesses []core.BusinessID,
	since time.Time) (list []console.Throttled, err error) {
	var throttles []struct {
		Business core.BusinessID `bun:"business_id"`
		Name     string          `bun:"name"`
		State    []byte          `bun:"state"`
	}
	if err := c.db.Bun().
		NewRaw(`SELECT business_id, name, substring(state FOR 8) AS state FROM throttles WHERE business_id = ANY (?)
			AND length(state) >= 8
		ORDER BY business_id, name`, postgres.Array(businesses)).Scan(ctx, &throttles); err != nil {
		return nil, fmt.Errorf("reading throttles: %w", err)
	}
	for _, t := range throttles {
		if until := limit.BlockedUntil(t.State); until.After(since) && len(list) < noticesShown {
			list = append(list, console.Throttled{Business: t.Business, Name: t.Name, Until: until})
		}
	}
	return list, nil
}

// noticesShown bounds the notices of each kind.
const noticesShown = 20
