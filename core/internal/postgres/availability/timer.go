package availability

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/toggle"
)

// TimerChannel notifies replicas of a timer that was set.
const TimerChannel = "servery_timers"

// notifyTimer wakes the timers of all replicas if a switch is to be undone at a time.
func (t Store) notifyTimer(ctx context.Context, tx bun.Conn, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	return postgres.Notify(ctx, tx, TimerChannel)
}

// EnableDue enables stores and items whose timers are due, and ends workloads. It handles one business at a time, so
// that a failure in one does not delay others.
func (t Store) EnableDue(ctx context.Context, limit int) (turned int, next time.Time, err error) {
	next, err = t.nextDue(ctx, nil)
	if err != nil || next.IsZero() || next.After(t.db.Clock().Now()) {
		return 0, next, err
	}
	var businesses []core.BusinessID
	if err := t.db.Bun().
		NewRaw(`SELECT business_id FROM store_switches WHERE turn_on_at <= ?0 UNION SELECT business_id
			FROM item_timers WHERE turn_on_at <= ?0 UNION SELECT business_id FROM store_workloads WHERE until_at <= ?0`,
			t.db.Clock().Now()).Scan(ctx, &businesses); err != nil {
		return 0, next, fmt.Errorf("reading timed availability changes: %w", err)
	}
	var failures []error
	var failed []int64
	for _, business := range businesses {
		for _, turnOn := range []func(context.Context, core.BusinessID, int) (int, error){t.turnOnStores,
			t.turnOnItems, t.endWorkloads} {
			n, err := turnOn(ctx, business, limit)
			if turned += n; err != nil {
				failures, failed = append(failures, err), append(failed, int64(business))
			}
		}
	}
	if turned == 0 && len(failed) > 0 {
		next, err = t.nextDue(ctx, failed)
		failures = append(failures, err)
	}
	return turned, next, errors.Join(failures...)
}

// nextDue returns the earliest due time of all businesses except some, or the zero time if nothing is pending.
func (t Store) nextDue(ctx context.Context, except []int64) (time.Time, error) {
	var due time.Time
	query := queries.With("next_due", postgres.Args{"except": postgres.Array(except)})
	if err := t.db.Bun().QueryRowContext(ctx, query).Scan(postgres.OrZero(&due)); err != nil {
		return time.Time{}, fmt.Errorf("reading timed availability changes: %w", err)
	}
	return due, nil
}

func (t Store) turnOnStores(ctx context.Context, business core.BusinessID, limit int) (n int, err error) {
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		now := t.db.Clock().Now()
		if _, err := tx.ExecContext(ctx, queries.With("lock_presence", postgres.Args{"business": business,
			"now": now})); err != nil {
			return fmt.Errorf("locking the presence of stores: %w", err)
		}
		opened, err := readSwitches(ctx, tx, queries.With("turn_on_stores", postgres.Args{
			"business": business, "now": now, "limit": limit, "source": toggle.SourceTimer,
			"silent": toggle.SourcePresence, "columns": switchColumns,
		}))
		n = len(opened)
		return t.notifyPlatforms(ctx, tx, box, opened, err)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// turnOnItems enables the due items, one store at a time.
func (t Store) turnOnItems(ctx context.Context, business core.BusinessID, limit int) (n int, err error) {
	var stores []int64
	if err := t.db.Bun().
		NewRaw(`SELECT store_id FROM item_timers WHERE business_id = ? AND turn_on_at <= ? GROUP BY 1
			ORDER BY min(turn_on_at) LIMIT ?`,
			business, t.db.Clock().Now(), limit).Scan(ctx, &stores); err != nil {
		return 0, fmt.Errorf("reading timed availability changes: %w", err)
	}
	var failures []error
	for _, store := range stores {
		turned, err := t.turnOnStoreItems(ctx, business, store)
		if failures = append(failures, err); err == nil {
			n += turned
		}
	}
	return n, errors.Join(failures...)
}

// turnOnStoreItems enables the due items of one store. It holds the menu lock of the business.
func (t Store) turnOnStoreItems(ctx context.Context, business core.BusinessID, store int64) (n int, err error) {
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := menus.TryLockMenu(ctx, tx, business); errors.Is(err, menus.ErrMenuLocked) {
			return nil
		} else if err != nil {
			return err
		}
		switches, err := t.takeDueTimers(ctx, tx, business, store)
		if err != nil {
			return err
		}
		for _, s := range switches {
			n += len(s.items) + len(s.options)
			if _, _, err := t.switchItems(ctx, tx, box, *s); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// takeDueTimers deletes the due timers of a store and returns their switches, grouped by the
// request that set them.
func (t Store) takeDueTimers(ctx context.Context, tx bun.Conn, business core.BusinessID,
	store int64) (list []*itemSwitch, err error) {
	rows, err := tx.QueryContext(ctx,
		`WITH due AS (DELETE FROM item_timers WHERE business_id = ?0 AND store_id = ?1 AND turn_on_at <= ?2
			RETURNING kind, name, reference, actor)
		SELECT s.ref_id, due.* FROM due JOIN stores s ON s.business_id = ?0 AND s.id = ?1
		ORDER BY due.reference, due.kind, due.name`,
		business, store, t.db.Clock().Now())
	if err != nil {
		return nil, fmt.Errorf("claiming timed availability changes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s := &itemSwitch{business: business, storeID: store, enable: true, source: toggle.SourceTimer}
		var kind menu.Kind
		var name string
		if err := rows.Scan(&s.storeRef, &kind, &name, &s.reference, &s.actor); err != nil {
			return nil, fmt.Errorf("claiming timed availability changes: %w", err)
		}
		if last := len(list) - 1; last >= 0 && list[last].reference == s.reference {
			s = list[last]
		} else {
			list = append(list, s)
		}
		if kind == menu.Items {
			s.items = append(s.items, name)
		} else {
			s.options = append(s.options, name)
		}
	}
	return list, rows.Err()
}
