package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/publish"
)

// PublishNow publishes the menu of a store at once, on the named platforms or on all that
// list it, and records the audit entry. It returns NotFound for an unknown store or
// platform, and Conflict if there is no platform to publish to.
func (c Store) PublishNow(ctx context.Context, business core.BusinessID, storeRef string, platforms []string,
	change access.Change) error {
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		reference := core.NewID(c.db.Clock().Now())
		count, err := publications.RequestPublish(ctx, c.db, tx, publications.PublishRequest{
			Business: business, StoreRef: storeRef, Platforms: platforms, Reference: reference,
		})
		if err != nil {
			return err
		}
		if count == 0 {
			return core.Errorf(core.Conflict,
				"the store is listed on no platform of an aggregator")
		}
		change.After = map[string]any{"reference": reference.String(), "publications": count}
		if len(platforms) > 0 {
			change.After["platforms"] = platforms
		}
		return audit.Record(ctx, c.db, tx, change)
	})
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
		var leftOut, problems, warnings []byte
		if err := rows.Scan(&store, &p.Platform, &p.State, &p.Message, &leftOut, &problems, &warnings, &p.Note,
			&p.PublishedAt, &p.DueAt, &p.Since, &p.Deadline, &p.Task); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		p.PublishedAt, p.DueAt = postgres.ZeroIfEpoch(p.PublishedAt), postgres.ZeroIfEpoch(p.DueAt)
		p.Since, p.Deadline = postgres.ZeroIfEpoch(p.Since), postgres.ZeroIfEpoch(p.Deadline)
		result := publish.Result{State: p.State, Message: p.Message}
		if err := json.Unmarshal(leftOut, &result.Omitted); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		if err := json.Unmarshal(problems, &result.Problems); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		if err := json.Unmarshal(warnings, &p.Warnings); err != nil {
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
	list, err := postgres.Collect(ctx, c.db.Tenant(business), "reading what was published",
		func(p *console.Publishing) []any {
			return []any{&p.Platform, &p.State, &p.Stores, &p.Message, &p.Since, &p.Until}
		}, bun.SafeQuery(queries.With("published_by",
			postgres.Args{"business": business, "reference": reference.String()})))
	for i := range list {
		list[i].Since, list[i].Until = postgres.ZeroIfEpoch(list[i].Since), postgres.ZeroIfEpoch(list[i].Until)
	}
	return list, err
}
