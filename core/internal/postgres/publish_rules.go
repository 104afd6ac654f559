package postgres

import (
	"context"
	"encoding/json"
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
// that is to be done already.
func (db *DB) recheck(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	var needless bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM job_queue q JOIN jobs j ON j.business_id = q.business_id AND j.id = q.job_id
			WHERE q.business_id = ?0 AND q.kind = ?1 AND j.subject = ?2 AND j.state = 'queued')
		OR NOT EXISTS (SELECT 1 FROM platforms WHERE business_id = ?0 AND name = ?2 AND served_by <> ?3)
			AND NOT EXISTS (SELECT 1 FROM platform_findings WHERE business_id = ?0 AND platform = ?2)`,
		business, core.RecheckJob, platform, core.ServedByOwn).Scan(&needless); err != nil || needless {
		return err
	}
	now := db.clock.Now()
	return db.enqueue(ctx, tx, core.Job{ID: core.NewID(now), Business: business, Kind: core.RecheckJob, Subject: platform, Body: []byte("{}"), CreatedAt: now}, "")
}

// pluginChanged does so for all platforms that a plugin serves.
func (db *DB) pluginChanged(ctx context.Context, tx bun.Conn, id string) error {
	var served []struct {
		Business core.BusinessID
		Name     string
	}
	if err := tx.NewRaw(`SELECT business_id AS business, name FROM platforms WHERE served_by = ? ORDER BY business_id, name`, id).Scan(ctx, &served); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	for _, platform := range served {
		if err := db.rulesChanged(ctx, tx, platform.Business, platform.Name); err != nil {
			return err
		}
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
func (m Menus) KeepFindings(ctx context.Context, work core.Job, platform string, items []menu.StoredItem, findings map[string][]menu.Finding) (stale int, err error) {
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
		return m.publishMenus(ctx, tx, work, 0, menu.Reach{Items: changed})
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

// isReady reads the status that a hub tells of a plugin.
func isReady(status string) bool {
	var told struct {
		State string `json:"state"`
	}
	return json.Unmarshal([]byte(status), &told) == nil && told.State == "ready"
}
