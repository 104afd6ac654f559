package consolemenus

import (
	"context"

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
	type row struct {
		publications.Row
		store int64
	}
	rows, err := postgres.Collect(ctx, c.db.Tenant(business), "reading publications", func(r *row) []any {
		return []any{&r.store, &r.Platform, &r.State, &r.Message, &r.LeftOut, &r.Problems, &r.Cautions, &r.Note,
			postgres.OrZero(&r.PublishedAt), postgres.OrZero(&r.DueAt), postgres.OrZero(&r.Since),
			postgres.OrZero(&r.Deadline), &r.Task}
	}, bun.SafeQuery(queries.With("published_at", postgres.Args{
		"business": business, "stores": postgres.Array(stores),
	})))
	if err != nil {
		return nil, err
	}
	found := map[int64]map[string]publish.Publication{}
	for _, r := range rows {
		if err := r.Decode(); err != nil {
			return nil, err
		}
		if found[r.store] == nil {
			found[r.store] = map[string]publish.Publication{}
		}
		found[r.store][r.Platform] = r.Publication
	}
	return found, nil
}

// PublishingOfRequest returns the publication states of the menus that a request changed last, by
// platform. A menu that a later request has changed counts for that request.
func (c Store) PublishingOfRequest(ctx context.Context, business core.BusinessID,
	reference core.ID) ([]console.Publishing, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading what was published",
		func(p *console.Publishing) []any {
			return []any{&p.Platform, &p.State, &p.Stores, &p.Message, postgres.OrZero(&p.Since),
				postgres.OrZero(&p.Until)}
		}, bun.SafeQuery(queries.With("published_by",
			postgres.Args{"business": business, "reference": reference.String()})))
}
