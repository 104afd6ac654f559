package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// standingMost bounds what is read of a request: two outcomes of each platform, and
// two more where things were turned on again.
const standingMost = 4 * toggle.MaxPlatforms

// Standing reads what became of a request that switched something or had a menu
// published; NotFound where the business has none of the reference.
func (t Toggles) Standing(ctx context.Context, business core.BusinessID, reference core.ID) (s toggle.Standing, err error) {
	if s.Told, err = t.told(ctx, business, reference); err != nil {
		return s, err
	}
	// Calls are made in the transaction of their request, which lasts less than a minute.
	made := core.TimeOf(reference)
	s.Waiting, err = listOf(ctx, t.of(business), "reading what waits of a switch", func(w *toggle.Waiting) []any {
		return []any{&w.Platform, &w.Because}
	}, `SELECT c.platform, coalesce(l.note, '') FROM calls c
			LEFT JOIN call_lines l ON l.business_id = c.business_id AND l.line = c.line
			WHERE c.business_id = ?0 AND c.id >= ?1::uuid AND c.id < ?2::uuid AND c.kind IN (?3, ?4) AND c.state = 'waiting'
				AND c.payload::jsonb ->> 'reference' = ?5::uuid::text
		UNION ALL SELECT platform, note FROM publications WHERE business_id = ?0 AND ?5::uuid = ANY (asked)
		ORDER BY 1 LIMIT ?6`, business, core.FirstID(made), core.FirstID(made.Add(time.Minute)), relay.StoreAction, relay.ItemAction, reference, standingMost)
	if err != nil {
		return s, err
	}
	if len(s.Told)+len(s.Waiting) == 0 {
		var known bool
		err = t.of(business).QueryRowContext(ctx, `SELECT true FROM untold_switches WHERE business_id = ? AND reference = ?`, business, reference).Scan(&known)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return s, core.NoSuch("reference", strconv.Quote(reference.String()), "there is no switch with this reference")
	}
	return s, err
}

// keepUntold keeps the reference of a request of which nobody is told, where the
// number of platforms is 0.
func (db *DB) keepUntold(ctx context.Context, tx bun.Conn, business core.BusinessID, reference core.ID, platforms int) error {
	if platforms > 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO untold_switches (business_id, reference) VALUES (?, ?)`, business, reference); err != nil {
		return fmt.Errorf("keeping the reference of a switch: %w", err)
	}
	return nil
}

// told are the outcomes of a request, whether or not a webhook is subscribed to them.
func (t Toggles) told(ctx context.Context, business core.BusinessID, reference core.ID) (list []core.Event, err error) {
	rows, err := t.of(business).QueryContext(ctx, `SELECT event_type, body FROM events
		WHERE business_id = ? AND reference = ? AND event_type = ANY (?) ORDER BY id LIMIT ?`, business, reference.String(),
		array([]core.EventType{core.StoreAction, core.ItemStateToggle, core.OptionStateToggle, core.HubMenuPublish}), standingMost)
	if err != nil {
		return nil, fmt.Errorf("reading the outcomes of a switch: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e core.Event
		var packed []byte
		if err := rows.Scan(&e.Type, &packed); err != nil {
			return nil, fmt.Errorf("reading the outcomes of a switch: %w", err)
		}
		if e.Body, err = t.packer.unpack(packed); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}
