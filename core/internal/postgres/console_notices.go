package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
)

// Notices reads what keeps requests and events of businesses from coming
// through, if it happened since the given time.
func (c Console) Notices(ctx context.Context, businesses []core.BusinessID, since time.Time) (n console.Notices, err error) {
	if err := c.bun.NewRaw(`SELECT u.business_id AS business, u.event_type, u.count, u.at,
			coalesce((SELECT min(id) FROM webhooks w WHERE w.business_id = u.business_id AND w.event_type = u.event_type), 0) AS webhook
		FROM unheard_events u WHERE u.business_id = ANY (?) AND u.at >= ? AND u.event_type <> ? AND NOT EXISTS (
			SELECT 1 FROM webhooks w WHERE w.business_id = u.business_id AND w.event_type = u.event_type AND w.active)
		ORDER BY u.at DESC LIMIT ?`, array(businesses), since, core.OrderPlaced, noticesShown).Scan(ctx, &n.Unheard); err != nil {
		return n, fmt.Errorf("reading events without a receiver: %w", err)
	}
	if n.Revoked, err = c.keys(ctx, c.bun, `WHERE business_id = ANY (?) AND used_at > disabled_at AND used_at >= ? ORDER BY used_at DESC LIMIT ?`,
		array(businesses), since, noticesShown); err != nil {
		return n, err
	}
	if err := c.bun.NewRaw(`SELECT business_id AS business, count(*) AS count, min(created_at) AS since FROM orders
		WHERE business_id = ANY (?) AND escalated_at IS NOT NULL AND state = ? AND created_at > ? GROUP BY business_id ORDER BY 3 LIMIT ?`,
		array(businesses), order.Placed, since, noticesShown).Scan(ctx, &n.Waiting); err != nil {
		return n, fmt.Errorf("reading orders that wait: %w", err)
	}
	if err := c.bun.NewRaw(`SELECT DISTINCT ON (p.business_id) p.business_id AS business, count(*) OVER (PARTITION BY p.business_id) AS count,
			p.store_id, s.name AS store, p.silent_since AS since
		FROM pos_presence p JOIN stores s ON s.business_id = p.business_id AND s.id = p.store_id
		WHERE p.business_id = ANY (?) AND p.silent_since IS NOT NULL ORDER BY p.business_id, p.silent_since LIMIT ?`,
		array(businesses), noticesShown).Scan(ctx, &n.Silent); err != nil {
		return n, fmt.Errorf("reading silent stores: %w", err)
	}
	if err := c.bun.NewRaw(`SELECT p.business_id AS business, p.name AS platform, p.served_by, count(*) AS count, (array_agg(m.message ORDER BY m.settled_at DESC NULLS LAST))[1] AS message
		FROM publications m JOIN platforms p ON p.business_id = m.business_id AND p.name = m.platform AND p.served_by <> ?
		WHERE m.business_id = ANY (?) AND m.state = 'failed' GROUP BY p.business_id, p.name, p.served_by ORDER BY 4 DESC, 1, 2 LIMIT ?`,
		core.ServedByOwn, array(businesses), noticesShown).Scan(ctx, &n.Menus); err != nil {
		return n, fmt.Errorf("reading menus that were refused: %w", err)
	}
	if err := c.bun.NewRaw(`SELECT DISTINCT ON (w.business_id) w.business_id AS business, count(*) OVER (PARTITION BY w.business_id) AS count,
			w.store_id, s.name AS store, w.platform, w.actor, w.at AS since
		FROM (SELECT DISTINCT ON (w.business_id, w.store_id) w.* FROM store_switches w
			JOIN stores s ON s.business_id = w.business_id AND s.id = w.store_id JOIN platforms f ON f.business_id = w.business_id AND f.name = w.platform
			WHERE w.business_id = ANY (?) AND NOT w.open AND s.active AND `+listedOn+` ORDER BY w.business_id, w.store_id, w.at DESC) w
		JOIN stores s ON s.business_id = w.business_id AND s.id = w.store_id ORDER BY w.business_id, w.at DESC LIMIT ?`,
		array(businesses), noticesShown).Scan(ctx, &n.Closed); err != nil {
		return n, fmt.Errorf("reading stores that are closed on platforms: %w", err)
	}
	if n.NotTaken, err = c.notTaken(ctx, businesses); err != nil {
		return n, err
	}
	if n.Calls, err = c.refusedCalls(ctx, businesses, since); err != nil {
		return n, err
	}
	if n.Untold, err = c.UntoldOrders(ctx, businesses, since); err != nil {
		return n, err
	}
	if n.Refused, err = c.refusedJobs(ctx, businesses, since); err != nil {
		return n, err
	}
	var throttles []struct {
		Business core.BusinessID `bun:"business_id"`
		Name     string          `bun:"name"`
		State    []byte          `bun:"state"`
	}
	if err := c.bun.NewRaw(`SELECT business_id, name, substring(state FOR 8) AS state FROM throttles WHERE business_id = ANY (?) AND length(state) >= 8
		ORDER BY business_id, name`, array(businesses)).Scan(ctx, &throttles); err != nil {
		return n, fmt.Errorf("reading throttles: %w", err)
	}
	for _, t := range throttles {
		if until := limit.BlockedUntil(t.State); until.After(since) && len(n.Throttled) < noticesShown {
			n.Throttled = append(n.Throttled, console.Throttled{Business: t.Business, Name: t.Name, Until: until})
		}
	}
	return n, nil
}

// noticesShown bounds how many notices of a kind are read.
const noticesShown = 20
