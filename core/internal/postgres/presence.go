package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
)

// Presence keeps when something was last heard of the POS of each store (presence.Records).
type Presence struct{ *DB }

// presenceStep is how much newer a sign of life must be to be worth a write:
// several replicas hear of one store.
const presenceStep = 30 * time.Second

// Keep stores signs of life, all by one statement, in the order of the keys.
func (p Presence) Keep(ctx context.Context, signs map[presence.Sign]time.Time) error {
	n := len(signs)
	businesses, stores, orders := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	refs, at := make([]string, 0, n), make([]string, 0, n)
	for sign, seen := range signs {
		businesses, stores, orders = append(businesses, int64(sign.Business)), append(stores, sign.StoreID), append(orders, sign.OrderID)
		refs, at = append(refs, sign.StoreRef), append(at, seen.UTC().Format(time.RFC3339Nano))
	}
	_, err := p.bun.ExecContext(ctx, `INSERT INTO pos_presence AS p (business_id, store_id, seen_at)
		SELECT s.business_id, s.id, max(h.at)
		FROM unnest(?0::bigint[], ?1::bigint[], ?2::text[], ?3::bigint[], ?4::timestamptz[]) AS h (business, store, ref, placed, at)
		LEFT JOIN orders o ON h.placed <> 0 AND o.business_id = h.business AND o.id = h.placed
		JOIN stores s ON s.business_id = h.business AND s.id = CASE WHEN h.store <> 0 THEN h.store WHEN h.placed <> 0 THEN o.store_id
			ELSE (SELECT r.id FROM stores r WHERE r.business_id = h.business AND r.ref_id = h.ref) END
		GROUP BY s.business_id, s.id ORDER BY s.business_id, s.id
		ON CONFLICT (business_id, store_id) DO UPDATE SET seen_at = EXCLUDED.seen_at
		WHERE p.seen_at < EXCLUDED.seen_at - ?5 * interval '1 second'`,
		array(businesses), array(stores), array(refs), array(orders), array(at), int(presenceStep/time.Second))
	if err != nil {
		return fmt.Errorf("storing when stores were heard of: %w", err)
	}
	return nil
}

// Review has judge look at the stores of which nothing was heard for too long, and
// at those that are silent.
func (p Presence) Review(ctx context.Context, after time.Duration, judge func(presence.Store) (time.Time, error)) (changes []presence.Change, err error) {
	err = p.watch(ctx, "presence", func(tx bun.Conn, _ time.Time) (time.Time, error) {
		now := p.clock.Now()
		list, err := p.stores(ctx, tx, after, `w.after_s > 0 AND p.seen_at <= ?1::timestamptz - w.after_s * interval '1 second' OR p.silent_since IS NOT NULL`, now)
		if err != nil {
			return now, err
		}
		var businesses, stores []int64
		var since []string
		for _, s := range list {
			judged, err := judge(s)
			if err != nil {
				return now, fmt.Errorf("judging the presence of store %d: %w", s.ID, err)
			}
			if judged.Equal(s.SilentSince) {
				continue
			}
			businesses, stores = append(businesses, int64(s.Business)), append(stores, s.ID)
			changed, text := presence.Change{Store: s, Silent: !judged.IsZero()}, ""
			if changed.Silent {
				changed.SilentSince, text = judged, judged.UTC().Format(time.RFC3339Nano)
			}
			since, changes = append(since, text), append(changes, changed)
		}
		if len(changes) == 0 {
			return now, nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE pos_presence p SET silent_since = nullif(c.since, '')::timestamptz
			FROM unnest(?::bigint[], ?::bigint[], ?::text[]) AS c (business, store, since) WHERE p.business_id = c.business AND p.store_id = c.store`,
			array(businesses), array(stores), array(since)); err != nil {
			return now, fmt.Errorf("storing which stores are silent: %w", err)
		}
		return now, nil
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// Silent reads the stores whose POS is silent, of one business or with 0 of all,
// the longest silence first and at most limit.
func (p Presence) Silent(ctx context.Context, business core.BusinessID, limit int) ([]presence.Store, error) {
	return p.stores(ctx, p.bun, 0, `p.silent_since IS NOT NULL AND (?1 = 0 OR p.business_id = ?1) ORDER BY p.silent_since, p.store_id LIMIT ?2`, business, limit)
}

// Unsettled reads the stores of which it is not as it should be whether they are closed.
func (p Presence) Unsettled(ctx context.Context) ([]presence.Store, error) {
	return p.stores(ctx, p.bun, 0, `p.closed <> (p.silent_since IS NOT NULL AND coalesce(r.close_silent, false)) ORDER BY p.business_id, p.store_id`)
}

// Settle closes or opens an unsettled store, by one transaction with the note that
// it did, so that a crash leaves both undone or none.
func (p Presence) Settle(ctx context.Context, s presence.Store, closed bool, reason string) error {
	t := Toggles(p)
	return t.tell(ctx, func(tx bun.Conn, box *outbox) error {
		result, err := tx.ExecContext(ctx, `UPDATE pos_presence SET closed = ?0 WHERE business_id = ?1 AND store_id = ?2 AND closed <> ?0
			AND (NOT ?0 OR silent_since IS NOT NULL)`, closed, s.Business, s.ID)
		if err != nil {
			return fmt.Errorf("keeping that a silent store is closed: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return t.closeStore(ctx, tx, box, s.Business, s.ID, closed, reason)
	})
}

func (p Presence) stores(ctx context.Context, in bun.IDB, after time.Duration, which string, args ...any) ([]presence.Store, error) {
	rows, err := in.QueryContext(ctx, `SELECT p.business_id, p.store_id, s.ref_id, s.name, p.seen_at, p.silent_since, s.timings, s.active AND s.ordering_enabled,
			b.timezone, w.after_s, coalesce(r.close_silent, false)
		FROM pos_presence p JOIN stores s ON s.business_id = p.business_id AND s.id = p.store_id
		JOIN businesses b ON b.id = p.business_id LEFT JOIN presence_rules r ON r.business_id = p.business_id
		CROSS JOIN LATERAL (SELECT coalesce(r.silent_after_s, ?0)) AS w (after_s)
		WHERE `+which, append([]any{int(after / time.Second)}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading when stores were heard of: %w", err)
	}
	defer rows.Close()
	list := []presence.Store{}
	now := p.clock.Now()
	for rows.Next() {
		var s presence.Store
		var silent sql.NullTime
		var zone string
		var seconds int
		if err := rows.Scan(&s.Business, &s.ID, &s.RefID, &s.Name, &s.SeenAt, &silent, &s.Timings, &s.TakesOrder, &zone, &seconds, &s.Closes); err != nil {
			return nil, fmt.Errorf("reading when stores were heard of: %w", err)
		}
		place, err := time.LoadLocation(zone)
		if err != nil {
			return nil, err
		}
		s.SilentSince, s.Local, s.After = silent.Time, now.In(place), time.Duration(seconds)*time.Second
		list = append(list, s)
	}
	return list, rows.Err()
}
