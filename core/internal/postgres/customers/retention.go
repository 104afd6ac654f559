package customers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// PersonalDataRetention returns for how long a business keeps personal data.
func (s Store) PersonalDataRetention(ctx context.Context, business core.BusinessID) (customer.Retention, error) {
	return retentionOf(ctx, s.db.Tenant(business), business, "")
}

func retentionOf(ctx context.Context, in bun.IDB, business core.BusinessID,
	lock string) (keep customer.Retention, err error) {
	err = in.QueryRowContext(ctx, `SELECT keep_days FROM personal_data_rules WHERE business_id = ?`+lock,
		business).Scan(&keep)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("reading the retention of personal data: %w", err)
	}
	return keep, nil
}

// SetPersonalDataRetention stores for how long a business keeps personal data. It returns Conflict unless from is the
// current value, and NotFound if there is no such business.
func (s Store) SetPersonalDataRetention(ctx context.Context, business core.BusinessID, from, to customer.Retention,
	change access.Change) error {
	return s.db.InTx(ctx, func(tx bun.Conn) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO personal_data_rules (business_id, keep_days) VALUES (?, 0)
				ON CONFLICT (business_id) DO NOTHING`, business)
		if postgres.IsCode(err, "23503") {
			return core.Errorf(core.NotFound, "there is no business %d", business)
		}
		if err != nil {
			return fmt.Errorf("storing the retention of personal data: %w", err)
		}
		before, err := retentionOf(ctx, tx, business, " FOR UPDATE")
		if err != nil {
			return err
		}
		if from != before {
			return core.Errorf(core.Conflict, "keep-personal-data was changed meanwhile, and nothing was stored")
		}
		if before == to {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE personal_data_rules SET keep_days = ? WHERE business_id = ?`, int(to),
			business); err != nil {
			return fmt.Errorf("storing the retention of personal data: %w", err)
		}
		change.Object = fmt.Sprintf("business/%d", business)
		change.Before = map[string]any{"keep-personal-data": before.String()}
		change.After = map[string]any{"keep-personal-data": to.String()}
		return audit.Record(ctx, s.db, tx, change)
	})
}

// ChangeRetention stores the retention that a text names, unless it is "". It returns the retention.
func (s Store) ChangeRetention(ctx context.Context, business core.BusinessID, text string,
	change access.Change) (customer.Retention, error) {
	before, err := s.PersonalDataRetention(ctx, business)
	if err != nil || text == "" {
		return before, err
	}
	to, err := customer.ParseRetention(text)
	if err != nil {
		return before, err
	}
	return to, s.SetPersonalDataRetention(ctx, business, before, to, change)
}

// Sweep erases the personal data that businesses keep no longer, in short transactions. Any replica may call it; one
// at a time works on a business.
func (s Store) Sweep(ctx context.Context) error {
	var businesses []core.BusinessID
	if err := s.db.Bun().NewRaw(`SELECT business_id FROM personal_data_rules WHERE keep_days > 0
			ORDER BY business_id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("reading the retention of personal data: %w", err)
	}
	var failed error
	for _, business := range businesses {
		started := time.Now()
		for more := true; more && time.Since(started) < workTime && ctx.Err() == nil; {
			err := s.db.InTx(ctx, func(tx bun.Conn) (err error) {
				more, err = s.sweepSome(ctx, tx, business)
				return err
			})
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("erasing old personal data of business %d: %w", business, err))
				break
			}
		}
	}
	return failed
}

// position is a position in the orders of a business, by placing time.
type position struct {
	At time.Time `bun:"created_at"`
	ID int64     `bun:"id"`
}

// sweepSome erases the next orders past the retention. For an unfinished one it requests an erasure. It reports
// whether there may be more.
func (s Store) sweepSome(ctx context.Context, tx bun.Conn, business core.BusinessID) (more bool, err error) {
	var keep customer.Retention
	err = tx.QueryRowContext(ctx, `SELECT keep_days FROM personal_data_rules
		WHERE business_id = ? AND keep_days > 0 FOR UPDATE SKIP LOCKED`, business).Scan(&keep)
	if errors.Is(err, sql.ErrNoRows) { // switched off, or another replica has it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := s.db.Clock().Now()
	var due []position
	if err := tx.NewRaw(queries.With("past_retention", postgres.Args{
		"business": business, "before": keep.Before(now), "limit": eraseBatch,
	})).Scan(ctx, &due); err != nil || len(due) == 0 {
		return false, err
	}
	ids := make([]int64, len(due))
	for i, at := range due {
		ids[i] = at.ID
	}
	only := postgres.Conditions{}
	only.Add(true, "orders.id = ANY (?::bigint[])", postgres.Array(ids))
	finished, err := s.erasable(ctx, tx, selection{business, only, now})
	if err != nil {
		return false, err
	}
	if err := s.eraseOrders(ctx, tx, business, finished); err != nil {
		return false, err
	}
	unfinished, err := remaining(ctx, tx, selection{business, only, now})
	if err != nil {
		return false, err
	}
	requests := make([]core.ID, len(unfinished))
	for i := range requests {
		requests[i] = core.NewID(now)
	}
	last := due[len(due)-1]
	_, err = tx.ExecContext(ctx, queries.With("move_retention", postgres.Args{
		"business": business, "ids": postgres.Array(requests), "orders": postgres.Array(unfinished), "now": now,
		"at": last.At, "last": last.ID, "actor": "hub",
	}))
	return true, err
}
