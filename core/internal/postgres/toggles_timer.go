package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/toggle"
)

// TurnOn turns on what is due, business by business: what fails in one keeps no
// other waiting. Stores and items whose rows another transaction holds are left to it.
func (t Toggles) TurnOn(ctx context.Context, limit int) (turned int, next time.Time, err error) {
	var due sql.NullTime
	if err := t.bun.QueryRowContext(ctx, `SELECT least((SELECT min(turn_on_at) FROM store_switches WHERE turn_on_at IS NOT NULL), (SELECT min(turn_on_at) FROM item_turn_ons))`).
		Scan(&due); err != nil {
		return 0, next, fmt.Errorf("looking for what is to be turned on: %w", err)
	}
	if !due.Valid || due.Time.After(t.clock.Now()) {
		return 0, due.Time, nil
	}
	var businesses []core.BusinessID
	if err := t.bun.NewRaw(`SELECT business_id FROM store_switches WHERE turn_on_at <= ?0 UNION SELECT business_id FROM item_turn_ons WHERE turn_on_at <= ?0`,
		t.clock.Now()).Scan(ctx, &businesses); err != nil {
		return 0, due.Time, fmt.Errorf("looking for what is to be turned on: %w", err)
	}
	var failures []error
	for _, business := range businesses {
		for _, turnOn := range []func(context.Context, core.BusinessID, int) (int, error){t.turnOnStores, t.turnOnItems} {
			n, err := turnOn(ctx, business, limit)
			turned, failures = turned+n, append(failures, err)
		}
	}
	return turned, due.Time, errors.Join(failures...)
}

func (t Toggles) turnOnStores(ctx context.Context, business core.BusinessID, limit int) (n int, err error) {
	err = t.tell(ctx, func(tx bun.Conn, box *outbox) error {
		now := t.clock.Now()
		places, err := readPlaces(ctx, tx, `WITH due AS (SELECT business_id, store_id, platform FROM store_switches WHERE turn_on_at <= ?0 AND business_id = ?3
				ORDER BY turn_on_at LIMIT ?1 FOR UPDATE SKIP LOCKED),
			put AS (UPDATE store_switches w SET open = true, turn_on_at = NULL, source = ?2, reason = '', at = ?0 FROM due
				WHERE w.business_id = due.business_id AND w.store_id = due.store_id AND w.platform = due.platform RETURNING w.*)
			SELECT `+placeColumns+`, w.open, w.source, w.reason, w.actor, w.reference, true FROM put w
			JOIN stores s ON s.business_id = w.business_id AND s.id = w.store_id JOIN platforms f ON f.business_id = w.business_id AND f.name = w.platform
			ORDER BY w.business_id, w.store_id, w.platform`, now, limit, toggle.ByTimer, business)
		n = len(places)
		return t.tellStores(ctx, tx, box, places, err)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// turnOnItems turns on what is due, store by store.
func (t Toggles) turnOnItems(ctx context.Context, business core.BusinessID, limit int) (n int, err error) {
	var stores []int64
	if err := t.bun.NewRaw(`SELECT store_id FROM item_turn_ons WHERE business_id = ? AND turn_on_at <= ? GROUP BY 1 ORDER BY min(turn_on_at) LIMIT ?`,
		business, t.clock.Now(), limit).Scan(ctx, &stores); err != nil {
		return 0, fmt.Errorf("looking for what is to be turned on: %w", err)
	}
	var failures []error
	for _, store := range stores {
		turned, err := t.turnOnAt(ctx, business, store)
		if failures = append(failures, err); err == nil {
			n += turned
		}
	}
	return n, errors.Join(failures...)
}

// turnOnAt turns on what is due at one store: the menu of its business must not be
// changed by others meanwhile.
func (t Toggles) turnOnAt(ctx context.Context, business core.BusinessID, store int64) (n int, err error) {
	err = t.tell(ctx, func(tx bun.Conn, box *outbox) error {
		if err := tryMenu(ctx, tx, business); errors.Is(err, errMenuHeld) {
			return nil
		} else if err != nil {
			return err
		}
		switches, err := t.takeDue(ctx, tx, business, store)
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

// takeDue takes what is due at a store away, and tells what is to become of it, by
// the requests that asked for it.
func (t Toggles) takeDue(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64) (list []*itemSwitch, err error) {
	rows, err := tx.QueryContext(ctx, `WITH due AS (DELETE FROM item_turn_ons WHERE business_id = ?0 AND store_id = ?1 AND turn_on_at <= ?2
			RETURNING kind, name, reference, actor)
		SELECT s.ref_id, due.* FROM due JOIN stores s ON s.business_id = ?0 AND s.id = ?1 ORDER BY due.reference, due.kind, due.name`,
		business, store, t.clock.Now())
	if err != nil {
		return nil, fmt.Errorf("taking what is to be turned on: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s := &itemSwitch{business: business, storeID: store, enable: true, source: toggle.ByTimer}
		var kind menu.Kind
		var name string
		if err := rows.Scan(&s.storeRef, &kind, &name, &s.reference, &s.actor); err != nil {
			return nil, fmt.Errorf("taking what is to be turned on: %w", err)
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
