package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// Toggles keeps which stores, items and options are on and off (toggle.Records).
type Toggles struct{ *DB }

// place is a platform on which a store, or what it sells, goes on or off.
type place struct {
	toggle.Switch
	servedBy        string
	platformStoreID string
	reason          string
	actor           string
	moved           bool // it was otherwise before
}

// placeColumns are read of a store s and a platform f.
const placeColumns = `s.business_id, s.id, s.ref_id, f.name, f.served_by, ` + givenID

func (p *place) fields() []any {
	return []any{&p.Business, &p.StoreID, &p.StoreRef, &p.Platform, &p.servedBy, &p.platformStoreID}
}

// SwitchStore opens or closes a store on the named platforms, or with none on all
// on which it is listed. It tells how many those are. NotFound where the business
// has no such store or platform.
func (t Toggles) SwitchStore(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID, actor string) (n int, err error) {
	err = t.tell(ctx, func(tx bun.Conn, box *outbox) error {
		store, err := storeID(ctx, tx, business, r.LocationRefID)
		if err != nil {
			return err
		}
		if err := knownPlatforms(ctx, tx, business, r.Platforms); err != nil {
			return err
		}
		asked := storeSwitch{enable: r.Action == toggle.Enable, source: toggle.ByAPI, reference: reference, actor: actor, turnOnAt: r.TurnOnAt}
		asked.which, asked.args = listedOn, nil
		if len(r.Platforms) > 0 {
			asked.which, asked.args = `f.name = ANY (?::text[])`, []any{array(r.Platforms)}
		}
		places, err := t.switchStore(ctx, tx, business, store, asked)
		n = len(places)
		if err := t.tellStores(ctx, tx, box, places, err); err != nil {
			return err
		}
		return t.keepUntold(ctx, tx, business, reference, n)
	})
	return n, err
}

// closeStore closes a store wherever it is open, or opens it where it was closed so,
// for what its POS does.
func (t Toggles) closeStore(ctx context.Context, tx bun.Conn, box *outbox, business core.BusinessID, store int64, closed bool, reason string) error {
	asked := storeSwitch{
		enable: !closed, source: toggle.ByPresence, reason: reason, reference: core.NewID(t.clock.Now()), actor: "hub",
		which: listedOn + ` AND NOT EXISTS (SELECT 1 FROM store_switches x WHERE x.business_id = s.business_id AND x.store_id = s.id AND x.platform = f.name AND NOT x.open)`,
		still: `WHERE w.open`,
	}
	if !closed {
		asked.which = `EXISTS (SELECT 1 FROM store_switches x WHERE x.business_id = s.business_id AND x.store_id = s.id AND x.platform = f.name
			AND NOT x.open AND x.source = 'presence')`
		asked.still = `WHERE NOT w.open AND w.source = 'presence'`
	}
	places, err := t.switchStore(ctx, tx, business, store, asked)
	return t.tellStores(ctx, tx, box, places, err)
}

// storeSwitch says what is to become of a store s on platforms f.
type storeSwitch struct {
	enable                bool
	source, reason, actor string
	reference             core.ID
	turnOnAt              time.Time // zero: never
	which                 string    // condition of s and f
	args                  []any
	still                 string // condition of the row w that there is, as it is when its turn comes
}

func (t Toggles) switchStore(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64, a storeSwitch) ([]place, error) {
	return readPlaces(ctx, tx, `WITH chosen AS (SELECT s.business_id, s.id, f.name FROM stores s JOIN platforms f ON f.business_id = s.business_id
			WHERE s.business_id = ? AND s.id = ? AND `+a.which+`),
		put AS (INSERT INTO store_switches AS w (business_id, store_id, platform, open, source, reason, actor, reference, at, turn_on_at)
			SELECT business_id, id, name, ?, ?, ?, ?, ?::uuid, ?::timestamptz, ?::timestamptz FROM chosen ORDER BY name
			ON CONFLICT (business_id, store_id, platform) DO UPDATE SET open = excluded.open, source = excluded.source, reason = excluded.reason,
				actor = excluded.actor, reference = excluded.reference, at = excluded.at, turn_on_at = excluded.turn_on_at `+a.still+`
			RETURNING w.*)
		SELECT `+placeColumns+`, w.open, w.source, w.reason, w.actor, w.reference, coalesce(x.open, true) <> w.open FROM put w
		JOIN stores s ON s.business_id = w.business_id AND s.id = w.store_id JOIN platforms f ON f.business_id = w.business_id AND f.name = w.platform
		LEFT JOIN store_switches x ON x.business_id = w.business_id AND x.store_id = w.store_id AND x.platform = w.platform -- as it was
		ORDER BY f.name`,
		append(append([]any{business, store}, a.args...), a.enable, a.source, clean(a.reason), a.actor, a.reference.String(), t.clock.Now(), nullTime(a.turnOnAt))...)
}

// readPlaces runs a statement that yields the columns of places, and of the
// switches there.
func readPlaces(ctx context.Context, tx bun.IDB, query string, args ...any) (list []place, err error) {
	return listOf(ctx, tx, "switching stores", func(p *place) []any {
		return append(p.fields(), &p.Enable, &p.Source, &p.reason, &p.actor, &p.Reference, &p.moved)
	}, query, args...)
}

// tellStores has aggregators told of stores that went on or off; of the merchant's
// own platforms, which read it from the hub, it tells that it is so.
func (t Toggles) tellStores(ctx context.Context, tx bun.Conn, box *outbox, places []place, err error) error {
	if err != nil {
		return err
	}
	var calls []newCall
	var events []core.Event
	for i, p := range places {
		now := t.clock.Now().Add(time.Duration(i) * time.Microsecond) // so that ids sort as they come
		if p.servedBy == core.ServedByOwn {
			event, err := toggle.Outcome{Switch: p.Switch, Done: true, Message: p.reason, At: now}.StoreEvent()
			if err != nil {
				return err
			}
			events = append(events, event)
			continue
		}
		call, err := p.call(relay.StoreAction, relay.StoreActionPayload{Outlet: p.outlet(now)}, now)
		if err != nil {
			return err
		}
		calls = append(calls, call)
	}
	if err := box.call(ctx, tx, calls); err != nil {
		return err
	}
	if err := t.recordStores(ctx, tx, places); err != nil {
		return err
	}
	return box.publish(ctx, tx, events...)
}

// recordStores puts in the audit trail who switched stores that were otherwise: a line
// for each request and store, whose places come one after the other.
func (t Toggles) recordStores(ctx context.Context, tx bun.Conn, places []place) error {
	for len(places) > 0 {
		p, names, n := places[0], []string{}, 0
		for ; n < len(places) && places[n].StoreID == p.StoreID && places[n].Reference == p.Reference; n++ {
			if places[n].moved {
				names = append(names, places[n].Platform)
			}
		}
		if places = places[n:]; len(names) == 0 {
			continue
		}
		change := access.Change{Business: p.Business, Actor: p.actor, Action: "store.close", Object: fmt.Sprintf("store/%d", p.StoreID), Why: p.reason,
			After: map[string]any{"platforms": names, "source": p.Source, "reference": p.Reference.String()}}
		if p.Enable {
			change.Action = "store.open"
		}
		if err := t.record(ctx, tx, change); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) outlet(at time.Time) relay.Outlet {
	return relay.Outlet{
		StoreID: p.StoreID, StoreRefID: p.StoreRef, PlatformStoreID: p.platformStoreID,
		Reference: p.Reference, Source: p.Source, Enable: p.Enable, At: at.UnixMilli(),
	}
}

// call is what the platform is told: in the store's line, so that what was asked
// for later is told later.
func (p *place) call(kind relay.Kind, payload any, at time.Time) (newCall, error) {
	text, err := json.Marshal(payload)
	return newCall{
		business: p.Business, id: core.NewID(at), kind: kind, line: relay.StoreLine(p.Platform, p.StoreID), platform: p.Platform,
		payload: text, actor: p.actor, at: at,
	}, err
}

func storeID(ctx context.Context, tx bun.Conn, business core.BusinessID, ref string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, business, ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.NoSuch("location_ref_id", strconv.Quote(ref), "there is no location with this ref_id")
	}
	return id, err
}

func knownPlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID, names []string) error {
	var unknown []string
	if err := tx.NewRaw(`SELECT n FROM unnest(?::text[]) n WHERE NOT EXISTS (SELECT 1 FROM platforms WHERE business_id = ? AND name = n)`,
		array(names), business).Scan(ctx, &unknown); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	if len(unknown) > 0 {
		return core.NoSuch(fmt.Sprintf("platforms[%d]", slices.Index(names, unknown[0])), strconv.Quote(unknown[0]), "there is no such platform")
	}
	return nil
}
