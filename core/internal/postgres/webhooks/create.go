package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

// Upsert finds subscriptions by event type and URL and stores the results of decide: all or none.
func (w Store) Upsert(ctx context.Context, business core.BusinessID, actor string, keys []webhook.Key,
	decide func(int, *webhook.Subscription) (webhook.Subscription, error)) (subs []webhook.Subscription, err error) {
	err = w.db.InTx(ctx, func(tx bun.Conn) error {
		existing, err := w.lockKeys(ctx, tx, business, keys)
		if err != nil {
			return err
		}
		order := make([]int, len(keys))
		for i := range order {
			order[i] = i
		}
		// Existing webhooks come first, in the order of their ids, because other transactions lock their
		// deliveries in that order.
		slices.SortStableFunc(order, func(a, b int) int {
			one, other := existing[keys[a]], existing[keys[b]]
			if one == nil || other == nil {
				return cmp.Compare(newLast(one), newLast(other))
			}
			return cmp.Compare(one.ID, other.ID)
		})
		free, err := w.free(ctx, tx, business, len(keys)-len(existing))
		if err != nil {
			return err
		}
		subs = make([]webhook.Subscription, len(keys))
		for _, i := range order {
			if existing[keys[i]] == nil {
				if free--; free < 0 {
					return &webhook.ItemError{Index: i, Err: errTooMany}
				}
			}
			if subs[i], err = w.upsert(ctx, tx, actor, existing[keys[i]],
				func(s *webhook.Subscription) (webhook.Subscription, error) { return decide(i, s) }); err != nil {
				return &webhook.ItemError{Index: i, Err: err}
			}
		}
		return nil
	})
	return subs, err
}

var errTooMany = core.Errorf(core.Conflict,
	"the business has %d webhooks, the maximum: change the url of an inactive one instead", webhook.MaxWebhooks)

// free returns how many more webhooks a business may have. The lock makes concurrent creations wait, which may be of
// other event types.
func (w Store) free(ctx context.Context, tx bun.Conn, business core.BusinessID, created int) (free int, err error) {
	if created == 0 {
		return 0, nil
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('webhooks', ?))`,
		int64(business)); err != nil {
		return 0, fmt.Errorf("locking the subscriptions: %w", err)
	}
	if err := tx.QueryRowContext(ctx, `SELECT ?::integer - count(*) FROM webhooks WHERE business_id = ?`,
		webhook.MaxWebhooks, business).Scan(&free); err != nil {
		return 0, fmt.Errorf("counting subscriptions: %w", err)
	}
	return free, nil
}

func newLast(sub *webhook.Subscription) int {
	if sub == nil {
		return 1
	}
	return 0
}

// lockKeys locks and returns the subscriptions that exist. Of two concurrent creations of one, the second finds the
// first.
func (w Store) lockKeys(ctx context.Context, tx bun.Conn, business core.BusinessID,
	keys []webhook.Key) (map[webhook.Key]*webhook.Subscription, error) {
	types, urls := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		types[i], urls[i] = string(key.EventType), key.URL
	}
	for _, event := range slices.Compact(slices.Sorted(slices.Values(types))) {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(?, ?))`,
			"webhook/"+event, int64(business)); err != nil {
			return nil, fmt.Errorf("locking the subscription: %w", err)
		}
	}
	var rows []webhookRow
	if err := tx.NewRaw(`SELECT `+webhookColumns+` FROM webhooks WHERE business_id = ?
		AND (event_type, url) IN (SELECT * FROM unnest(?::text[], ?::text[])) ORDER BY id FOR UPDATE`,
		business, postgres.Array(types), postgres.Array(urls)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading the subscription: %w", err)
	}
	existing := make(map[webhook.Key]*webhook.Subscription, len(rows))
	for _, row := range rows {
		sub, err := subscription(w.db, row)
		if err != nil {
			return nil, err
		}
		existing[webhook.Key{EventType: sub.EventType, URL: sub.URL}] = &sub
	}
	return existing, nil
}

// upsert stores the result of decide for a subscription, nil if it does not exist.
func (w Store) upsert(ctx context.Context, tx bun.Conn, actor string, existing *webhook.Subscription,
	decide func(*webhook.Subscription) (webhook.Subscription, error)) (webhook.Subscription, error) {
	if existing != nil {
		before := *existing
		sub, err := decide(existing)
		if err != nil {
			return sub, err
		}
		return sub, w.change(ctx, tx, update(sub.Business, actor), before, sub)
	}
	sub, err := decide(nil)
	if err != nil {
		return sub, err
	}
	if err := checkActiveLimit(ctx, tx, webhook.Subscription{}, sub); err != nil {
		return sub, err
	}
	headers, err := outbox.SealHeaders(ctx, w.db, tx, sub.Business, sub.Headers)
	if err != nil {
		return sub, err
	}
	secret, err := w.db.SealIn(ctx, tx, outbox.WebhookAssociatedData(sub.Business, "secret"), []byte(sub.Secret))
	if err != nil {
		return sub, err
	}
	if err := tx.QueryRowContext(ctx, queries.With("create_webhook", postgres.Args{
		"business": sub.Business, "event_type": sub.EventType, "url": sub.URL, "active": sub.Active,
		"units": sub.Units, "headers": headers, "header_names": headerNames(sub), "event_header": sub.EventHeader.Name,
		"event_value": eventValue(sub.EventHeader), "secret": secret, "created_at": sub.CreatedAt,
		"updated_at": sub.UpdatedAt,
	})).Scan(&sub.ID); err != nil {
		return sub, fmt.Errorf("storing the subscription: %w", err)
	}
	return sub, audit.Record(ctx, w.db, tx, access.Change{Business: sub.Business, Actor: actor,
		Action: "webhook.create", Object: fmt.Sprintf("webhook/%d", sub.ID), After: auditEntry(sub)})
}
