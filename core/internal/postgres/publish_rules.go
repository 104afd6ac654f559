package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// rulesChanged has a platform's stores published and its items checked anew: what
// its plugin makes of them may have changed.
func (db *DB) rulesChanged(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	if err := db.publishPlatform(ctx, tx, business, platform); err != nil {
		return err
	}
	return db.recheck(ctx, tx, business, platform)
}

// recheck has the items of a business held against the rules of a platform, unless
// that is to be done already: what waits to go on in the middle begins anew.
func (db *DB) recheck(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	var needless bool
	if err := tx.QueryRowContext(ctx, `WITH queued AS (UPDATE jobs j SET body = ?4 FROM job_queue q
			WHERE q.business_id = ?0 AND q.kind = ?1 AND j.business_id = q.business_id AND j.id = q.job_id AND j.subject = ?2 AND j.state = 'queued' RETURNING 1)
		SELECT EXISTS (SELECT 1 FROM queued) OR NOT EXISTS (SELECT 1 FROM platforms WHERE business_id = ?0 AND name = ?2 AND served_by <> ?3)
			AND NOT EXISTS (SELECT 1 FROM platform_findings WHERE business_id = ?0 AND platform = ?2)`,
		business, core.RecheckJob, platform, core.ServedByOwn, db.packer.pack([]byte("{}"))).Scan(&needless); err != nil || needless {
		return err
	}
	now := db.clock.Now()
	return db.enqueue(ctx, tx, core.Job{ID: core.NewID(now), Business: business, Kind: core.RecheckJob, Subject: platform, Body: []byte("{}"), CreatedAt: now}, "")
}

// pluginChanged does so for all platforms that a plugin serves. All are marked
// before the first is rechecked: the others who do both do it in that order.
func (db *DB) pluginChanged(ctx context.Context, tx bun.Conn, id string) error {
	var served []struct {
		Business core.BusinessID
		Name     string
	}
	if err := tx.NewRaw(`SELECT business_id AS business, name FROM platforms WHERE served_by = ? ORDER BY business_id, name`, id).Scan(ctx, &served); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	if _, err := db.publishDue(ctx, tx, due{reference: core.NewID(db.clock.Now()), condition: publishedOn + ` AND f.served_by = ?`, args: []any{id}}); err != nil {
		return err
	}
	for _, platform := range served {
		if err := db.recheck(ctx, tx, platform.Business, platform.Name); err != nil {
			return err
		}
	}
	return nil
}

// forgetPublished forgets what a platform holds, and by which ids, where another
// plugin serves it from now on: its aggregator holds none of that. What is under way
// to the former one comes to nothing.
func (db *DB) forgetPublished(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string) error {
	_, err := tx.ExecContext(ctx, `WITH held AS (SELECT store_id FROM publications WHERE business_id = ?0 AND platform = ?1 ORDER BY store_id FOR UPDATE)
		UPDATE publications p SET owner = NULL, digest = NULL, outlet = NULL, published_at = NULL, message = '', left_out = '[]', problems = '[]',
			state = CASE WHEN state IN ('unlisted', 'skipped') THEN state ELSE 'waiting' END
		FROM held WHERE p.business_id = ?0 AND p.platform = ?1 AND p.store_id = held.store_id`, business, platform)
	if err != nil {
		return fmt.Errorf("forgetting what the platform holds: %w", err)
	}
	return nil
}

// ItemsAfter reads master items (menu.RecheckRecords).
func (m Menus) ItemsAfter(ctx context.Context, business core.BusinessID, after int64, limit int) (list []menu.StoredItem, err error) {
	rows, err := m.of(business).QueryContext(ctx, `SELECT id, name, active, record, updated_at FROM menu_masters
		WHERE business_id = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?`, business, int(menu.Items), after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one menu.StoredItem
		var ref menu.Ref
		var record string
		if err := rows.Scan(&ref.ID, &ref.RefID, &ref.Active, &record, &one.UpdatedAt); err != nil {
			return nil, fmt.Errorf("reading items: %w", err)
		}
		if err := menu.Unpack(record, &one.Item); err != nil {
			return nil, fmt.Errorf("the stored item %d cannot be read: %w", ref.ID, err)
		}
		one.Item.Ref = ref
		list = append(list, one)
	}
	return list, rows.Err()
}

// KeepFindings writes what a platform has against items (menu.RecheckRecords).
func (m Menus) KeepFindings(ctx context.Context, work core.Job, platform string, items []menu.StoredItem, findings map[string][]menu.Finding, body []byte) (stale int, err error) {
	err = m.inTx(ctx, func(tx bun.Conn) error {
		if err := m.hold(ctx, tx, work); err != nil {
			return err
		}
		ids, at := make([]int64, len(items)), make([]string, len(items))
		for i := range items {
			ids[i], at[i] = items[i].Item.ID, items[i].UpdatedAt.UTC().Format(time.RFC3339Nano)
		}
		var same []int64
		if err := tx.NewRaw(`SELECT m.id FROM menu_masters m JOIN unnest(?::bigint[], ?::timestamptz[]) AS r (id, at) ON r.id = m.id AND r.at = m.updated_at
			WHERE m.business_id = ? AND m.kind = ? FOR SHARE OF m`, array(ids), array(at), work.Business, int(menu.Items)).Scan(ctx, &same); err != nil {
			return fmt.Errorf("reading items: %w", err)
		}
		unchanged := make(map[int64]bool, len(same))
		for _, id := range same {
			unchanged[id] = true
		}
		var kept []menu.ItemFindings
		for i := range items {
			if unchanged[items[i].Item.ID] {
				kept = append(kept, menu.ItemFindings{ID: items[i].Item.ID, Findings: findings[items[i].Item.RefID]})
			}
		}
		stale = len(items) - len(kept)
		changed, err := keepFindings(ctx, tx, work.Business, []string{platform}, kept)
		if err != nil {
			return err
		}
		if err := m.publishMenus(ctx, tx, work, 0, menu.Reach{Items: changed}); err != nil || stale > 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET body = ? WHERE business_id = ? AND id = ?`, m.packer.pack(body), work.Business, work.ID); err != nil {
			return fmt.Errorf("keeping how far the recheck is: %w", err)
		}
		return nil
	})
	return stale, err
}

// EndRecheck ends the job (menu.RecheckRecords).
func (m Menus) EndRecheck(ctx context.Context, work core.Job, failure string, result []byte, items int) error {
	return m.inTx(ctx, func(tx bun.Conn) error {
		if err := m.hold(ctx, tx, work); err != nil {
			return err
		}
		return m.end(ctx, tx, work, jobEnd{failure: failure, result: result, objects: items})
	})
}
