package consoleview

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	storesdb "github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/publish"
)

// gridColumns are the columns of a row store with its closed_on column.
const gridColumns = bun.Safe(`store.id, store.ref_id, store.name, store.active, store.ordering_enabled,
	store.hide_from_ui, store.excluded_platforms, store.included_platforms, store.timings, store.closed_on`)

// GridRow is a row of gridColumns. It is exported because bun requires that.
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
	s := console.GridStore{ID: r.ID, RefID: r.RefID, Name: r.Name, Active: r.Active, Ordering: r.Ordering,
		Hidden:   r.Hidden,
		Excluded: r.Excluded, Included: r.Included, ClosedOn: r.ClosedOn}
	if len(r.Timings) > 0 {
		if err := json.Unmarshal(r.Timings, &s.Timings); err != nil {
			return s, fmt.Errorf("reading the hours of store %d: %w", r.ID, err)
		}
	}
	return s, nil
}

// GridStores returns stores of a business after a cursor, those with problems first.
func (c Store) GridStores(ctx context.Context, business core.BusinessID, f console.StoreFilter,
	after console.GridCursor) ([]console.GridStore, error) {
	var rows []struct {
		GridRow
		Rank int `bun:"rank"`
	}
	if err := c.db.Tenant(business).NewRaw(queries.With("grid_stores", postgres.Args{
		"business": business, "only": storeConditions(f), "rank": bun.Safe(queries.With("grid_rank", nil)),
		"after_rank": after.Rank, "after_ref": after.RefID, "limit": f.Limit, "columns": gridColumns,
		"closed_on": storesdb.ClosedOn,
	})).Scan(ctx, &rows); err != nil {
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

// StorePublications returns the publications of stores, by store and platform.
func (c Store) StorePublications(ctx context.Context, business core.BusinessID,
	stores []int64) (map[int64]map[string]publish.Publication, error) {
	rows, err := c.db.Tenant(business).QueryContext(ctx, queries.With("published_at", postgres.Args{
		"business": business, "stores": postgres.Array(stores),
	}))
	if err != nil {
		return nil, fmt.Errorf("reading publications: %w", err)
	}
	defer rows.Close()
	publications := map[int64]map[string]publish.Publication{}
	for rows.Next() {
		var store int64
		var p publish.Publication
		var leftOut, problems []byte
		if err := rows.Scan(&store, &p.Platform, &p.State, &p.Message, &leftOut, &problems, &p.Note,
			&p.PublishedAt, &p.DueAt); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		p.PublishedAt, p.DueAt = zeroIfEpoch(p.PublishedAt), zeroIfEpoch(p.DueAt)
		result := publish.Result{State: p.State, Message: p.Message}
		if err := json.Unmarshal(leftOut, &result.Omitted); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		if err := json.Unmarshal(problems, &result.Problems); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		p.Errors = result.Errors()
		if publications[store] == nil {
			publications[store] = map[string]publish.Publication{}
		}
		publications[store][p.Platform] = p
	}
	return publications, rows.Err()
}

// PublishingOfRequest returns the publication states of the menus that a request changed last, by
// platform. A menu that a later request has changed counts for that request.
func (c Store) PublishingOfRequest(ctx context.Context, business core.BusinessID,
	reference core.ID) ([]console.Publishing, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading what was published",
		func(p *console.Publishing) []any {
			return []any{&p.Platform, &p.State, &p.Stores, &p.Message}
		}, bun.SafeQuery(queries.With("published_by",
			postgres.Args{"business": business, "reference": reference.String()})))
}
