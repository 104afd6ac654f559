package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/checklist"
)

// Checklist finds out how far a first integration is.
type Checklist struct {
	*DB
	Offers action.Offers
}

// latestLooked is how many deliveries of a webhook, and how many orders, are
// looked at, the newest first.
const latestLooked = 100

// Facts reads what has been seen of a business: each by an index, stopping at the
// first that is found.
func (c Checklist) Facts(ctx context.Context, business core.BusinessID) (f checklist.Facts, err error) {
	offering, err := c.offering(ctx, business)
	if err != nil {
		return f, err
	}
	var wrong uuid.NullUUID
	err = c.of(business).QueryRowContext(ctx, `WITH
			hooks AS (SELECT id, event_type, active FROM webhooks WHERE business_id = ?0),
			menu AS (SELECT id, state, result FROM jobs WHERE business_id = ?0 AND kind = ?1 AND NOT dry_run AND state IN ('done', 'failed') ORDER BY id DESC LIMIT 1),
			recent AS (SELECT o.id, o.platform, o.delivery_type, p.served_by FROM orders o JOIN platforms p ON p.business_id = ?0 AND p.name = o.platform
				WHERE o.business_id = ?0 ORDER BY o.created_at DESC, o.id DESC LIMIT ?2),
			led AS (SELECT id, platform FROM recent WHERE served_by = ANY (?3) LIMIT 1)
		SELECT EXISTS (SELECT FROM api_keys WHERE business_id = ?0 AND used_at IS NOT NULL),
			EXISTS (SELECT FROM stores WHERE business_id = ?0),
			EXISTS (SELECT FROM menu_masters WHERE business_id = ?0),
			EXISTS (SELECT FROM hooks WHERE active),
			EXISTS (SELECT FROM hooks JOIN endpoint_health h ON h.business_id = ?0 AND h.webhook_id = hooks.id WHERE h.accepted_at IS NOT NULL),
			EXISTS (SELECT FROM hooks CROSS JOIN LATERAL (SELECT event_id, state FROM deliveries WHERE business_id = ?0 AND webhook_id = hooks.id ORDER BY id DESC LIMIT ?2) d
				WHERE hooks.event_type = ?4 AND d.state = 'delivered' AND EXISTS (SELECT FROM events e WHERE e.id = d.event_id AND e.business_id = ?0 AND NOT e.test)),
			EXISTS (SELECT FROM jobs WHERE business_id = ?0 AND kind = ?5),
			EXISTS (SELECT FROM rider_statuses WHERE business_id = ?0),
			EXISTS (SELECT FROM calls WHERE business_id = ?0 AND kind = 'action' AND state IN ('done', 'pending')),
			(SELECT id FROM menu WHERE state = 'failed' OR EXISTS (SELECT FROM jsonb_each(result->'stats') s WHERE (s.value->>'errors')::bigint > 0)),
			coalesce((SELECT ref_id FROM stores WHERE business_id = ?0 ORDER BY ref_id LIMIT 1), ''),
			coalesce((SELECT name FROM menu_masters WHERE business_id = ?0 AND kind = 1 AND active LIMIT 1), ''),
			coalesce((SELECT id FROM recent WHERE delivery_type = 'self' LIMIT 1), 0),
			coalesce((SELECT id FROM led), 0), coalesce((SELECT platform FROM led), '')`,
		business, core.MenuJob, latestLooked, pgdialect.Array(offering), core.OrderPlaced, core.OrderRetryJob).Scan(
		&f.Called, &f.Stores, &f.Menu, &f.Subscribed, &f.Verified, &f.OrderAccepted, &f.OrdersRetried, &f.Rider, &f.Action,
		&wrong, &f.Store, &f.Item, &f.SelfOrder, &f.Order, &f.Platform)
	if err != nil {
		return f, fmt.Errorf("reading how far an integration is: %w", err)
	}
	f.MenuErrors = wrong.UUID
	f.Called = f.Called || f.Stores // when a key was shown is stored once a minute
	return f, nil
}

// offering are the plugins of a business's platforms that offer the customer's contact.
func (c Checklist) offering(ctx context.Context, business core.BusinessID) ([]string, error) {
	platforms, err := Platforms{DB: c.DB}.List(ctx, business)
	if err != nil {
		return nil, err
	}
	offering := []string{}
	for _, p := range platforms {
		if p.ServedBy == core.ServedByOwn {
			continue
		}
		// What a plugin offers is not known while it starts: nothing is proposed then.
		if actions, err := c.Offers.Actions(ctx, p.ServedBy); err == nil && slices.Contains(actions, action.CustomerData) {
			offering = append(offering, p.ServedBy)
		}
	}
	return offering, nil
}
