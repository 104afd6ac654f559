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
		var publication publish.Publication
		var leftOut, problems, warnings string
		var reference uuid.NullUUID
		var published, settled, due, since, deadline sql.NullTime
		if err := rows.Scan(&publication.StoreRef, &publication.Platform, &publication.State, &publication.Message,
			&leftOut, &problems, &warnings, &reference,
			&published, &settled, &due, &publication.Note, &publication.Attempts,
			&since, &deadline, &publication.Task); err != nil {
			return nil, fmt.Errorf("reading publications: %w", err)
		}
		result := publish.Result{State: publication.State, Message: publication.Message}
		if err := errors.Join(json.Unmarshal([]byte(leftOut), &result.Omitted),
			json.Unmarshal([]byte(problems), &result.Problems),
			json.Unmarshal([]byte(warnings), &publication.Warnings)); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		publication.Errors, publication.Reference = result.Errors(), reference.UUID
		publication.PublishedAt, publication.UpdatedAt, publication.DueAt = published.Time, settled.Time, due.Time
		publication.Since, publication.Deadline = since.Time, deadline.Time
		list = append(list, publication)
	}
	return list, rows.Err()
}
