package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// gridRank puts stores with problems first: those that take no orders or whose
// menu could not be published, then those that are hidden or have a menu in part.
const gridRank = `CASE
	WHEN NOT s.active OR NOT s.ordering_enabled OR s.excluded_platforms IS NULL AND coalesce(cardinality(s.included_platforms), 0) = 0
		OR EXISTS (SELECT 1 FROM publications p WHERE p.business_id = s.business_id AND p.store_id = s.id AND p.state = 'failed')
		OR EXISTS (SELECT 1 FROM store_switches w WHERE w.business_id = s.business_id AND w.store_id = s.id AND NOT w.open) THEN 0
	WHEN s.hide_from_ui OR EXISTS (SELECT 1 FROM publications p WHERE p.business_id = s.business_id AND p.store_id = s.id
		AND (p.problems <> '[]' OR p.left_out <> '[]' OR p.note <> '')) THEN 1
	ELSE 2 END`

// gridColumns are read of a store s that knows where it is closed.
const gridColumns = `s.id, s.ref_id, s.name, s.active, s.ordering_enabled, s.hide_from_ui, s.excluded_platforms, s.included_platforms, s.timings, s.closed_on`

// GridRow is a row of gridColumns. Its name begins with a capital for bun.
type GridRow struct {
	ID       int64           `bun:"id"`
	RefID    string          `bun:"ref_id"`
	Name     string          `bun:"name"`
	Active   bool            `bun:"active"`
	Ordering bool            `bun:"ordering_enabled"`
	Hidden   bool            `bun:"hide_from_ui"`
	Excluded []string        `bun:"excluded_platforms,array"`
	Included []string        `bun:"included_platforms,array"`
	Timings  json.RawMessage `bun:"timings"`
	ClosedOn json.RawMessage `bun:"closed_on"`
}

func (r GridRow) store() (console.GridStore, error) {
	s := console.GridStore{ID: r.ID, RefID: r.RefID, Name: r.Name, Active: r.Active, Ordering: r.Ordering, Hidden: r.Hidden,
		Excluded: r.Excluded, Included: r.Included, ClosedOn: r.ClosedOn}
	if len(r.Timings) > 0 {
		if err := json.Unmarshal(r.Timings, &s.Timings); err != nil {
			return s, fmt.Errorf("reading the hours of store %d: %w", r.ID, err)
		}
	}
	return s, nil
}

// GridStores reads stores of a business, those with problems first, after a place.
func (c Console) GridStores(ctx context.Context, business core.BusinessID, f console.StoreFilter, after console.GridPlace) ([]console.GridStore, error) {
	only := chosenStores(business, f)
	var rows []struct {
		GridRow
		Rank int `bun:"rank"`
	}
	if err := c.of(business).NewRaw(`WITH chosen AS MATERIALIZED (SELECT ref_id, `+gridRank+` AS rank FROM stores s WHERE `+only.text+`),
			g AS (SELECT * FROM chosen WHERE (rank, ref_id) > (?, ?) ORDER BY rank, ref_id LIMIT ?)
		SELECT `+gridColumns+`, g.rank FROM g JOIN (SELECT *, `+closedOn+` AS closed_on FROM stores) s ON s.business_id = ? AND s.ref_id = g.ref_id
		ORDER BY g.rank, g.ref_id`, append(only.args, after.Rank, after.RefID, f.Limit, business)...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading the stores of the grid: %w", err)
	}
	list := make([]console.GridStore, len(rows))
	for i, r := range rows {
		var err error
		if list[i], err = r.store(); err != nil {
			return nil, err
		}
		list[i].Rank = r.Rank
	}
	return list, nil
}

// PublishedAt reads what became of the menus of stores, by the platforms.
func (c Console) PublishedAt(ctx context.Context, business core.BusinessID, stores []int64) (map[int64]map[string]publish.Publication, error) {
	rows, err := c.of(business).QueryContext(ctx, `SELECT store_id, platform, state, message, left_out, problems, note, coalesce(published_at, 'epoch'),
			CASE WHEN available_at < 'infinity' THEN available_at ELSE 'epoch' END FROM publications
		WHERE business_id = ? AND store_id = ANY (?)`, business, array(stores))
	if err != nil {
		return nil, fmt.Errorf("reading publications: %w", err)
	}
	defer rows.Close()
	all := map[int64]map[string]publish.Publication{}
	for rows.Next() {
		var store int64
		var one publish.Publication
		var leftOut, problems []byte
		if err := rows.Scan(&store, &one.Platform, &one.State, &one.Message, &leftOut, &problems, &one.Note, &one.PublishedAt, &one.DueAt); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		one.PublishedAt, one.DueAt = unlessEpoch(one.PublishedAt), unlessEpoch(one.DueAt)
		told := publish.Result{State: one.State, Message: one.Message}
		if err := json.Unmarshal(leftOut, &told.LeftOut); err != nil {
			return nil, fmt.Errorf("a stored publication cannot be read: %w", err)
		}
		if err := json.Unmarshal(problems, &told.Problems); err != nil {
			return nil, fmt.Errorf("a stored publication cannot be read: %w", err)
		}
		one.Errors = told.Errors()
		if all[store] == nil {
			all[store] = map[string]publish.Publication{}
		}
		all[store][one.Platform] = one
	}
	return all, rows.Err()
}

// PublishedBy tells how it stands at the platforms with the menus that a request
// changed last, by the platforms. Where a later request has changed them meanwhile, it
// is that one's.
func (c Console) PublishedBy(ctx context.Context, business core.BusinessID, reference core.ID) ([]console.Publishing, error) {
	return listOf(ctx, c.of(business), "reading what was published", func(p *console.Publishing) []any {
		return []any{&p.Platform, &p.State, &p.Stores, &p.Message}
	}, `SELECT platform, so, count(*), max(CASE WHEN so = 'failed' THEN message ELSE note END)
		FROM (SELECT platform, message, note, CASE WHEN waiting @> ARRAY[?1::uuid] OR outcome_of IS DISTINCT FROM ?1 AND available_at < 'infinity' THEN 'waiting' ELSE state END AS so
			FROM publications WHERE business_id = ?0 AND (reference = ?1 OR outcome_of = ?1 OR waiting @> ARRAY[?1::uuid])) p
		WHERE so IN ('published', 'failed', 'waiting') GROUP BY 1, 2 ORDER BY 1, 2`, business, reference.String())
}
