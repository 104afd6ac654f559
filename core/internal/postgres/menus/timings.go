package menus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// IngestTimings ends a category timing job in one transaction (menu.TimingStorage).
func (m Store) IngestTimings(ctx context.Context, work core.Job, refIDs []string,
	decide func(categories map[string]int64) (menu.TimingIngestResult, error),
) error {
	return jobs.Run(ctx, m.db, work, func(tx bun.Conn, box *outbox.Outbox) error {
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
		if err := box.Publish(ctx, tx, ingested.Event); err != nil {
			return err
		}
		return jobs.Finish(ctx, m.db, tx, work,
			jobs.Ended{Failure: ingested.Failure, Result: ingested.Result, Event: ingested.Event.ID,
				Objects: ingested.Objects})
	})
}

func categoryIDs(ctx context.Context, tx bun.Conn, business core.BusinessID,
	refIDs []string) (map[string]int64, error) {
	return postgres.CollectMap(ctx, tx, "reading categories", func(name *string, id *int64) []any {
		return []any{name, id}
	}, bun.SafeQuery(`SELECT name, id FROM catalogue_entities WHERE business_id = ? AND kind = ? AND name = ANY (?)`,
		business, int(menu.Categories), postgres.Array(refIDs)))
}

// writeTimings replaces the timing groups with the same titles, as a revision. It increases
// the menu version and republishes. Unchanged groups are not written.
func (m Store) writeTimings(ctx context.Context, tx bun.Conn, work core.Job, groups []menu.TimingChange) error {
	stored, _, err := ReadTimings(ctx, tx, work.Business, revisions.TimingsTable.Current())
	if err != nil {
		return err
	}
	if groups = stored.Changes(groups); len(groups) == 0 {
		return nil
	}
	revision, err := revisions.Begin(ctx, m.db, tx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := m.writeTiming(ctx, tx, work.Business, g); err != nil {
			return fmt.Errorf("storing category timings: %w", err)
		}
	}
	if err := revision.End(ctx, m.db, tx, work); err != nil {
		return err
	}
	writer := MenuWriter{Ctx: ctx, Tx: tx, Business: work.Business, Now: m.db.Clock().Now()}
	if err := writer.incrementVersion(0); err != nil {
		return err
	}
	return publications.PublishMenus(ctx, m.db, tx,
		publications.MenuChange{Job: work, Affected: menu.AffectedStores{All: true}})
}

func (m Store) writeTiming(ctx context.Context, tx bun.Conn, business core.BusinessID, g menu.TimingChange) error {
	if len(g.Categories) == 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM timing_groups WHERE business_id = ? AND title = ?`, business,
			g.Title)
		return err
	}
	hours, err := json.Marshal(g.Hours)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, queries.With("write_timing", postgres.Args{
		"business": business, "title": g.Title, "hours": string(hours), "now": m.db.Clock().Now(),
		"categories": postgres.Array(g.Categories),
	}))
	return err
}

// Timings returns the category timings of a business, with the open ones marked.
func (m Store) Timings(ctx context.Context, business core.BusinessID) (menu.Timings, error) {
	list, zone, err := ReadTimings(ctx, m.db.Tenant(business), business, revisions.TimingsTable.Current())
	if err != nil {
		return nil, err
	}
	list.UpdateOpen(m.db.Clock().Now().In(zone))
	return list, nil
}

// ReadTimings returns the category timings of a business from a table expression, and the
// time zone of the business.
func ReadTimings(ctx context.Context, db bun.IDB, business core.BusinessID, table string,
	args ...any) (list menu.Timings, zone *time.Location, err error) {
	rows, err := db.QueryContext(ctx, `SELECT g.title, g.day_slots, b.timezone, g.category_ids FROM `+table+` g
		JOIN businesses b ON b.id = g.business_id WHERE g.business_id = ?0 ORDER BY g.title`,
		slices.Concat([]any{business}, args)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading category timings: %w", err)
	}
	defer rows.Close()
	zoneName := "UTC"
	for rows.Next() {
		var t menu.Timing
		var hours string
		if err := rows.Scan(&t.Title, &hours, &zoneName, pgdialect.Array(&t.Categories)); err != nil {
			return nil, nil, fmt.Errorf("reading category timings: %w", err)
		}
		if err := json.Unmarshal([]byte(hours), &t.Hours); err != nil {
			return nil, nil, fmt.Errorf("reading stored timings %q: %w", t.Title, err)
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("reading category timings: %w", err)
	}
	zone, err = time.LoadLocation(zoneName)
	return list, zone, err
}

// TimingGroups returns the category timings of a business as sent, sorted by title.
func (m Store) TimingGroups(ctx context.Context, business core.BusinessID) ([]menu.TimingGroup, error) {
	timings, err := m.Timings(ctx, business)
	if err != nil {
		return nil, err
	}
	names, err := postgres.CollectMap(ctx, m.db.Tenant(business), "reading categories",
		func(id *int64, name *string) []any { return []any{id, name} },
		bun.SafeQuery(`SELECT id, name FROM catalogue_entities WHERE business_id = ?0 AND kind = ?1
			AND id IN (SELECT category_id FROM timed_categories WHERE business_id = ?0)`,
			business, int(menu.Categories)))
	if err != nil {
		return nil, err
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
	return groups, nil
}
