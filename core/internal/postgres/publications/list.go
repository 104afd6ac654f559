package publications

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/publish"
)

// List returns publications, sorted by store ref_id and platform, at most f.Limit.
func (p Store) List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error) {
	rows, err := p.db.Tenant(business).QueryContext(ctx, queries.With("list", postgres.Args{
		"business": business, "store": f.StoreRef, "platform": f.Platform, "state": f.State,
		"after_store": f.After.StoreRef, "after_platform": f.After.Platform, "limit": f.Limit,
	}))
	if err != nil {
		return nil, fmt.Errorf("reading publications: %w", err)
	}
	defer rows.Close()
	list := []publish.Publication{}
	for rows.Next() {
		var one publish.Publication
		var leftOut, problems string
		var reference uuid.NullUUID
		var published, settled, due sql.NullTime
		if err := rows.Scan(&one.StoreRef, &one.Platform, &one.State, &one.Message, &leftOut, &problems, &reference,
			&published, &settled, &due, &one.Note, &one.Attempts); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		told := publish.Result{State: one.State, Message: one.Message}
		if err := errors.Join(json.Unmarshal([]byte(leftOut), &told.Omitted),
			json.Unmarshal([]byte(problems), &told.Problems)); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		one.Errors, one.Reference = told.Errors(), reference.UUID
		one.PublishedAt, one.UpdatedAt, one.DueAt = published.Time, settled.Time, due.Time
		list = append(list, one)
	}
	return list, rows.Err()
}
