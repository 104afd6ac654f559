package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// IngestTimings ends a job of category timings in one transaction (menu.TimingRecords).
func (m Menus) IngestTimings(ctx context.Context, work core.Job, refIDs []string,
	decide func(categories map[string]int64) (menu.IngestedTimings, error),
) error {
	return m.tell(ctx, func(tx bun.Conn, box *outbox) error {
		if err := m.hold(ctx, tx, work); err != nil {
			return err
		}
		if err := lockMenu(ctx, tx, work.Business); err != nil {
			return err
		}
		categories, err := categoryIDs(ctx, tx, work.Business, refIDs)
		if err != nil {
			return err
		}
		ingested, err := decide(categories)
		if err != nil {
			return err
		}
		if err := m.writeTimings(ctx, tx, work, ingested.Groups); err != nil {
			return err
		}
		if err := box.publish(ctx, tx, ingested.Event); err != nil {
			return err
		}
		return m.end(ctx, tx, work, jobEnd{failure: ingested.Failure, result: ingested.Result, event: ingested.Event.ID, objects: ingested.Objects})
	})
}

func categoryIDs(ctx context.Context, tx bun.Conn, business core.BusinessID, refIDs []string) (map[string]int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, id FROM menu_masters WHERE business_id = ? AND kind = ? AND name = ANY (?)`,
		business, int(menu.Categories), array(refIDs))
	if err != nil {
		return nil, fmt.Errorf("reading categories: %w", err)
	}
	defer rows.Close()
	ids := map[string]int64{}
	for rows.Next() {
		var name string
		var id int64
		if err := rows.Scan(&name, &id); err != nil {
			return nil, fmt.Errorf("reading categories: %w", err)
		}
		ids[name] = id
	}
	return ids, rows.Err()
}

// writeTimings puts groups in the place of those of their titles, as a revision.
// Whoever has read a menu before reads it anew, and platforms are told. What is
// so already is left alone.
func (m Menus) writeTimings(ctx context.Context, tx bun.Conn, work core.Job, groups []menu.TimingChange) error {
	stored, _, err := readTimings(ctx, tx, work.Business, keptTimings.present())
	if err != nil {
		return err
	}
	if groups = stored.Changes(groups); len(groups) == 0 {
		return nil
	}
	revision, err := m.beginRevision(ctx, tx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := m.writeTiming(ctx, tx, work.Business, g); err != nil {
			return fmt.Errorf("storing category timings: %w", err)
		}
	}
	if err := m.endRevision(ctx, tx, work, revision, nil); err != nil {
		return err
	}
	writer := menuWriter{ctx: ctx, tx: tx, business: work.Business, now: m.clock.Now()}
	if err := writer.countVersion(0); err != nil {
		return err
	}
	return m.publishMenus(ctx, tx, work, 0, menu.Reach{All: true})
}

func (m Menus) writeTiming(ctx context.Context, tx bun.Conn, business core.BusinessID, g menu.TimingChange) error {
	if len(g.Categories) == 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM timing_groups WHERE business_id = ? AND title = ?`, business, g.Title)
		return err
	}
	hours, err := json.Marshal(g.Hours)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `WITH written AS (
			INSERT INTO timing_groups (business_id, title, day_slots, updated_at) VALUES (?0, ?1, ?2, ?3)
			ON CONFLICT (business_id, title) DO UPDATE SET day_slots = excluded.day_slots, updated_at = excluded.updated_at RETURNING id),
		removed AS (DELETE FROM timed_categories USING written WHERE business_id = ?0 AND group_id = written.id AND category_id <> ALL (?4::bigint[]))
		INSERT INTO timed_categories (business_id, group_id, category_id) SELECT ?0, written.id, c FROM written, unnest(?4::bigint[]) AS c
		ON CONFLICT DO NOTHING`,
		business, g.Title, string(hours), m.clock.Now(), array(g.Categories))
	return err
}

// Timings reads the category timings of a business and notes which are open now.
func (m Menus) Timings(ctx context.Context, business core.BusinessID) (menu.Timings, error) {
	list, zone, err := readTimings(ctx, m.of(business), business, keptTimings.present())
	if err != nil {
		return nil, err
	}
	list.Now(m.clock.Now().In(zone))
	return list, nil
}

// readTimings reads the category timings of a business, as they are kept somewhere,
// and its time zone.
func readTimings(ctx context.Context, db bun.IDB, business core.BusinessID, kept string, args ...any) (list menu.Timings, zone *time.Location, err error) {
	rows, err := db.QueryContext(ctx, `SELECT g.title, g.day_slots, b.timezone, g.category_ids FROM `+kept+` g
		JOIN businesses b ON b.id = g.business_id WHERE g.business_id = ?0 ORDER BY g.title`, slices.Concat([]any{business}, args)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading category timings: %w", err)
	}
	defer rows.Close()
	place := "UTC"
	for rows.Next() {
		var t menu.Timing
		var hours string
		if err := rows.Scan(&t.Title, &hours, &place, pgdialect.Array(&t.Categories)); err != nil {
			return nil, nil, fmt.Errorf("reading category timings: %w", err)
		}
		if err := json.Unmarshal([]byte(hours), &t.Hours); err != nil {
			return nil, nil, fmt.Errorf("the stored timings %q cannot be read: %w", t.Title, err)
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("reading category timings: %w", err)
	}
	zone, err = time.LoadLocation(place)
	return list, zone, err
}

// TimingGroups reads the category timings of a business as they are sent, by title.
func (m Menus) TimingGroups(ctx context.Context, business core.BusinessID) ([]menu.TimingGroup, error) {
	timings, err := m.Timings(ctx, business)
	if err != nil {
		return nil, err
	}
	rows, err := m.of(business).QueryContext(ctx, `SELECT id, name FROM menu_masters WHERE business_id = ?0 AND kind = ?1
		AND id IN (SELECT category_id FROM timed_categories WHERE business_id = ?0)`, business, int(menu.Categories))
	if err != nil {
		return nil, fmt.Errorf("reading categories: %w", err)
	}
	defer rows.Close()
	names := map[int64]string{}
	for rows.Next() {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, fmt.Errorf("reading categories: %w", err)
		}
		names[id] = name
	}
	groups := make([]menu.TimingGroup, len(timings))
	for i, t := range timings {
		groups[i] = menu.TimingGroup{Title: t.Title, CategoryRefIDs: []string{}, DaySlots: t.Hours}
		for _, id := range t.Categories {
			if name, known := names[id]; known {
				groups[i].CategoryRefIDs = append(groups[i].CategoryRefIDs, name)
			}
		}
		slices.Sort(groups[i].CategoryRefIDs)
	}
	return groups, rows.Err()
}
