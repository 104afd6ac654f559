package consoleview

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// MonitoringRules returns the monitoring rules of a business.
func (c Store) MonitoringRules(ctx context.Context, business core.BusinessID) (console.MonitoringRules, error) {
	return c.monitoringRules(ctx, c.db.Tenant(business), business, "")
}

// SetMonitoringRules stores the result of set for the monitoring rules of a business. It returns
// NotFound if there is no such business.
func (c Store) SetMonitoringRules(ctx context.Context, business core.BusinessID,
	set func(*console.MonitoringRules) error, change access.Change) error {
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		_, err := tx.ExecContext(ctx,
			`INSERT INTO presence_rules (business_id, close_silent_stores) VALUES (?, false)
				ON CONFLICT (business_id) DO NOTHING`, business)
		if postgres.IsCode(err, "23503") {
			return core.Errorf(core.NotFound, "there is no business %d", business)
		}
		if err != nil {
			return fmt.Errorf("storing the monitoring of a business: %w", err)
		}
		w, err := c.monitoringRules(ctx, tx, business, "FOR UPDATE")
		if err != nil {
			return err
		}
		change.Object, change.Before = fmt.Sprintf("business/%d", business), w.Flags()
		if err := set(&w); err != nil {
			return err
		}
		change.After = w.Flags()
		if _, err := tx.ExecContext(ctx,
			`UPDATE presence_rules SET ack_within_s = ?, silent_after_s = ?, close_silent_stores = ?
				WHERE business_id = ?`,
			secondsOf(w.AckWithin), secondsOf(w.SilentAfter), w.CloseSilent, business); err != nil {
			return fmt.Errorf("storing the monitoring of a business: %w", err)
		}
		return audit.Record(ctx, c.db, tx, change)
	})
}

func (c Store) monitoringRules(ctx context.Context, in bun.IDB, business core.BusinessID,
	lock string) (w console.MonitoringRules, err error) {
	var ack, silent sql.NullInt64
	err = in.QueryRowContext(ctx,
		`SELECT ack_within_s, silent_after_s, close_silent_stores FROM presence_rules WHERE business_id = ? `+lock,
		business).Scan(&ack, &silent, &w.CloseSilent)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return w, fmt.Errorf("reading the monitoring of a business: %w", err)
	}
	w.AckWithin, w.SilentAfter = durationOf(ack), durationOf(silent)
	return w, nil
}

func durationOf(seconds sql.NullInt64) *time.Duration {
	if !seconds.Valid {
		return nil
	}
	span := time.Duration(seconds.Int64) * time.Second
	return &span
}

func secondsOf(span *time.Duration) sql.NullInt64 {
	if span == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: int64(*span / time.Second), Valid: true}
}
