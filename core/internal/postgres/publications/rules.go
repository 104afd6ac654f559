package publications

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
)

// RulesChanged republishes a platform's stores and rechecks its items, because its plugin may now
// render or check them differently.
func RulesChanged(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID, platform string) error {
	if err := publishPlatform(ctx, db, tx, business, platform); err != nil {
		return err
	}
	return Recheck(ctx, db, tx, business, platform)
}

// PublishStore marks the menu of a store on platforms, whose rendering failed. Requests get no event.
func PublishStore(ctx context.Context, db *postgres.DB, tx bun.IDB, r PublishRequest) error {
	_, err := MarkDue(ctx, db, tx, Selector{
		Reference: core.NewID(db.Clock().Now()), Now: true,
		Condition: PublishedOn + ` AND store.business_id = ? AND store.ref_id = ? AND platform.name = ANY (?::text[])`,
		Args:      []any{r.Business, r.StoreRef, postgres.Array(r.Platforms)},
	})
	return err
}

// PluginChanged does what RulesChanged does, for all platforms of a plugin. It marks all
// before the first recheck, because other transactions lock in the same order.
func PluginChanged(ctx context.Context, db *postgres.DB, tx bun.Conn, id string) error {
	var served []struct {
		Business core.BusinessID
		Name     string
	}
	if err :=
		tx.NewRaw(`SELECT business_id AS business, name FROM platforms WHERE served_by = ? ORDER BY business_id, name`,
			id).Scan(ctx, &served); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	if _, err := MarkDue(ctx, db, tx,
		Selector{Reference: core.NewID(db.Clock().Now()), Condition: PublishedOn + ` AND platform.served_by = ?`,
			Args: []any{id}}); err != nil {
		return err
	}
	for _, platform := range served {
		if err := Recheck(ctx, db, tx, platform.Business, platform.Name); err != nil {
			return err
		}
	}
	return nil
}

// ResetPublished clears the published state of a platform that another plugin now serves, because
// the new aggregator has none of these menus. Running work of the former plugin is discarded.
func ResetPublished(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string) error {
	_, err := tx.ExecContext(ctx, queries.With("forget_published", postgres.Args{
		"business": business, "platform": platform,
	}))
	if err != nil {
		return fmt.Errorf("resetting the published state of a platform: %w", err)
	}
	return nil
}

// Recheck queues a job that checks a business's items against the rules of a platform. An already
// queued job restarts instead.
func Recheck(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID, platform string) error {
	now := db.Clock().Now()
	work := core.Job{ID: core.NewID(now), Business: business, Kind: core.RecheckJob, Subject: platform,
		Body: []byte("{}"), CreatedAt: now}
	var needless bool
	if err := tx.QueryRowContext(ctx, queries.With("recheck_queued", postgres.Args{
		"business": business, "ordering_key": work.OrderingKey(), "platform": platform, "own": core.ServedByMerchant,
		"body": db.Compress(work.Body),
	})).Scan(&needless); err != nil || needless {
		return err
	}
	return jobs.Enqueue(ctx, db, tx, work, "")
}
