package publications

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/publish"
)

// Row is a publication with its problems as stored.
type Row struct {
	publish.Publication
	LeftOut, Problems, Cautions []byte // the omitted objects, the rejected ones, the warnings
}

// Decode decodes the problems into the publication.
func (r *Row) Decode() error {
	result := publish.Result{State: r.State, Message: r.Message}
	if err := errors.Join(json.Unmarshal(r.LeftOut, &result.Omitted), json.Unmarshal(r.Problems, &result.Problems),
		json.Unmarshal(r.Cautions, &r.Warnings)); err != nil {
		return fmt.Errorf("reading a stored publication: %w", err)
	}
	r.Errors = result.Errors()
	return nil
}

// List returns publications, sorted by store ref_id and platform, at most f.Limit.
func (p Store) List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error) {
	rows, err := postgres.Collect(ctx, p.db.Tenant(business), "reading publications", func(r *Row) []any {
		return []any{&r.StoreRef, &r.Platform, &r.State, &r.Message, &r.LeftOut, &r.Problems, &r.Cautions,
			postgres.OrZero(&r.Reference), postgres.OrZero(&r.PublishedAt), postgres.OrZero(&r.UpdatedAt),
			postgres.OrZero(&r.DueAt), &r.Note, &r.Attempts, postgres.OrZero(&r.Since), postgres.OrZero(&r.Deadline),
			&r.Task}
	}, bun.SafeQuery(queries.With("list", postgres.Args{
		"business": business, "store": f.StoreRef, "platform": f.Platform, "state": f.State,
		"after_store": f.After.StoreRef, "after_platform": f.After.Platform, "limit": f.Limit,
	})))
	if err != nil {
		return nil, err
	}
	list := make([]publish.Publication, len(rows))
	for i := range rows {
		if err := rows[i].Decode(); err != nil {
			return nil, err
		}
		list[i] = rows[i].Publication
	}
	return list, nil
}
