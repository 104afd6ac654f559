package menus

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/menu"
)

// ItemsAfter returns at most limit master items with ids above after (menu.RecheckStorage).
func (m Store) ItemsAfter(ctx context.Context, business core.BusinessID, after int64,
	limit int) (list []menu.StoredItem, err error) {
	rows, err := m.db.Tenant(business).QueryContext(ctx,
		`SELECT id, name, active, record, updated_at FROM catalogue_entities
		WHERE business_id = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?`, business, int(menu.Items), after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var item menu.StoredItem
		var ref menu.Ref
		var record string
		if err := rows.Scan(&ref.ID, &ref.RefID, &ref.Active, &record, &item.UpdatedAt); err != nil {
			return nil, fmt.Errorf("reading items: %w", err)
		}
		if err := menu.DecodeStored(record, &item.Item); err != nil {
			return nil, fmt.Errorf("reading stored item %d: %w", ref.ID, err)
		}
		item.Item.Ref = ref
		list = append(list, item)
	}
	return list, rows.Err()
}

// ReplaceFindings stores the findings of the job's platform against items (menu.RecheckStorage).
func (m Store) ReplaceFindings(ctx context.Context, work core.Job, page menu.CheckedItems,
	body []byte) (stale int, err error) {
	items := page.Items
	err = jobs.InTx(ctx, m.db, work, func(tx bun.Conn) error {
		if err := lockMenu(ctx, tx, work.Business); err != nil { // before the items, as menu jobs lock
			return err
		}
		ids, at := make([]int64, len(items)), make([]string, len(items))
		for i := range items {
			ids[i], at[i] = items[i].Item.ID, items[i].UpdatedAt.UTC().Format(time.RFC3339Nano)
		}
		var same []int64
		if err :=
			tx.NewRaw(`SELECT m.id FROM catalogue_entities m JOIN unnest(?::bigint[], ?::timestamptz[]) AS r (id, at)
				ON r.id = m.id AND r.at = m.updated_at
			WHERE m.business_id = ? AND m.kind = ?`, postgres.Array(ids), postgres.Array(at),
				work.Business, int(menu.Items)).Scan(ctx, &same); err != nil {
			return fmt.Errorf("reading items: %w", err)
		}
		if changed, err := m.hasChanged(ctx, tx, work.Business, page.Version); err != nil || changed {
			stale = len(items)
			return err
		}
		unchanged := make(map[int64]bool, len(same))
		for _, id := range same {
			unchanged[id] = true
		}
		var current []menu.ItemFindings
		for i := range items {
			if unchanged[items[i].Item.ID] {
				current = append(current, menu.ItemFindings{ID: items[i].Item.ID,
					Findings: page.Findings[items[i].Item.RefID]})
			}
		}
		stale = len(items) - len(current)
		changed, err := publications.ReplaceFindings(ctx, tx, work.Business, []string{work.Subject}, current)
		if err != nil {
			return err
		}
		if err := publications.PublishMenus(ctx, m.db, tx,
			publications.MenuChange{Job: work, Affected: menu.AffectedStores{Items: changed.Items}}); err != nil ||
			stale > 0 {
			return err
		}
		return m.storeProgress(ctx, tx, work, body)
	})
	return stale, err
}

// CatalogueVersion returns the version of the catalogue (menu.RecheckStorage).
func (m Store) CatalogueVersion(ctx context.Context, business core.BusinessID) (version int64, err error) {
	if err := m.db.Tenant(business).QueryRowContext(ctx,
		`SELECT coalesce((SELECT version FROM menu_versions WHERE business_id = ? AND store_id = 0), 0)`,
		business).Scan(&version); err != nil {
		return 0, fmt.Errorf("reading the version of the menu: %w", err)
	}
	return version, nil
}

// hasChanged reports whether the catalogue has another version than the given one, which is 0 if it does not matter.
// The lock keeps the version until the transaction ends.
func (m Store) hasChanged(ctx context.Context, tx bun.Conn, business core.BusinessID, version int64) (bool, error) {
	if version == 0 {
		return false, nil
	}
	var current int64
	if err := tx.QueryRowContext(ctx,
		`SELECT version FROM menu_versions WHERE business_id = ? AND store_id = 0 FOR NO KEY UPDATE`, business).
		Scan(&current); err != nil {
		return false, fmt.Errorf("reading the version of the menu: %w", err)
	}
	return current != version, nil
}

func (m Store) storeProgress(ctx context.Context, tx bun.Conn, work core.Job, body []byte) error {
	return postgres.Exec(ctx, tx, "storing the progress of the recheck",
		`UPDATE jobs SET body = ? WHERE business_id = ? AND id = ?`, m.db.Compress(body), work.Business, work.ID)
}

// StoresAfter returns stores to check on a platform (menu.RecheckStorage).
func (m Store) StoresAfter(ctx context.Context, business core.BusinessID,
	page menu.StorePage) ([]menu.StoredStore, error) {
	return postgres.Collect(ctx, m.db.Tenant(business), "reading stores", func(s *menu.StoredStore) []any {
		return []any{&s.ID, &s.RefID}
	}, bun.SafeQuery(queries.With("stores_to_check", postgres.Args{
		"business": business, "platform": page.Platform, "after": page.After, "limit": page.Limit,
		"listed": page.Listed, "listed_on": bun.Safe(publications.ListedOn),
	})))
}

// ReplaceStoreFindings stores the findings of the job's platform against stores (menu.RecheckStorage).
func (m Store) ReplaceStoreFindings(ctx context.Context, work core.Job, stores []menu.StoredStore, found menu.Found,
	body []byte) error {
	return jobs.InTx(ctx, m.db, work, func(tx bun.Conn) error {
		list := make([]menu.ItemFindings, len(stores))
		for i, s := range stores {
			list[i] = menu.ItemFindings{Store: s.ID,
				Findings: found[menu.FoundObject{Entity: menu.FoundStore, RefID: s.RefID}]}
		}
		changed, err := publications.ReplaceFindings(ctx, tx, work.Business, []string{work.Subject}, list)
		if err != nil {
			return err
		}
		if err := publications.PublishChecked(ctx, m.db, tx, work, changed.Stores); err != nil {
			return err
		}
		return m.storeProgress(ctx, tx, work, body)
	})
}

// EndRecheck ends the job (menu.RecheckStorage).
func (m Store) EndRecheck(ctx context.Context, work core.Job, failure string, result []byte, items int) error {
	return jobs.InTx(ctx, m.db, work, func(tx bun.Conn) error {
		return jobs.Finish(ctx, m.db, tx, work, jobs.Ended{Failure: failure, Result: result, Objects: items})
	})
}

// blocked returns the items with findings, by platform; nil if there are none.
func (l *MenuLoader) blocked() (blocked map[string]map[int64]bool, err error) {
	list, err := publications.ReadFindings(l.Ctx, l.Tx, "item_id <> 0 AND NOT warning", l.Business)
	for _, row := range list {
		if blocked == nil {
			blocked = map[string]map[int64]bool{}
		}
		if blocked[row.Platform] == nil {
			blocked[row.Platform] = map[int64]bool{}
		}
		blocked[row.Platform][row.Item] = true
	}
	return blocked, err
}
