package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// itemSwitch is what is to become of items and options of a store.
type itemSwitch struct {
	business  core.BusinessID
	storeID   int64
	storeRef  string
	items     []string
	options   []string
	enable    bool
	source    string
	actor     string
	reference core.ID
	turnOnAt  time.Time // zero: never
}

// SwitchItems makes items and options of a store available or unavailable, and
// has the platforms on which the store is listed told. It tells how many those
// are, and what could not be switched. NotFound where the business has no such
// store, Unavailable where its menu was not free before the context ended.
func (t Toggles) SwitchItems(ctx context.Context, business core.BusinessID, r toggle.ItemRequest, reference core.ID, actor string) (n int, undone []core.Switched, err error) {
	change := func() error {
		return t.tell(ctx, func(tx bun.Conn, box *outbox) error {
			store, err := storeID(ctx, tx, business, r.LocationRefID)
			if err != nil {
				return err
			}
			if err := tryMenu(ctx, tx, business); err != nil {
				return err
			}
			s := itemSwitch{
				business: business, storeID: store, storeRef: r.LocationRefID, items: r.Items, options: r.Options,
				enable: r.Action == toggle.Enable, source: toggle.ByAPI, actor: actor, reference: reference, turnOnAt: r.TurnOnAt,
			}
			if n, undone, err = t.switchItems(ctx, tx, box, s); err != nil {
				return err
			}
			return t.keepUntold(ctx, tx, business, reference, n)
		})
	}
	err = t.menuTurns.do(ctx, business, change)
	return n, undone, err
}

// menuLock is the key of the lock on the menu of a business.
const menuLock = `hashtextextended('servery menu ' || ?, 0)`

// lockMenu lets one transaction at a time change the menu of a business: what it
// writes rests on what it has read.
func lockMenu(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(`+menuLock+`)`, int64(business)); err != nil {
		return fmt.Errorf("locking the menu: %w", err)
	}
	return nil
}

// schedule puts what is to be turned on again in the place of what was to be.
func (s itemSwitch) schedule(ctx context.Context, tx bun.Conn, items, options []core.Switched) error {
	kinds, names := byKind(switched(items), switched(options))
	if err := forgetTurnOns(ctx, tx, s.business, s.storeID, switched(items), switched(options)); err != nil || s.turnOnAt.IsZero() {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO item_turn_ons (business_id, store_id, kind, name, reference, actor, turn_on_at)
		SELECT ?, ?, n.kind, n.name, ?, ?, ? FROM unnest(?::smallint[], ?::text[]) AS n (kind, name)`,
		s.business, s.storeID, s.reference, s.actor, s.turnOnAt, array(kinds), array(names))
	if err != nil {
		return fmt.Errorf("storing what is to be turned on: %w", err)
	}
	return nil
}

// note keeps when a request said so: a menu request that was accepted before does
// not undo it. What a timer does was said by the request that set it.
func (s itemSwitch) note(ctx context.Context, tx bun.Conn, now time.Time, items, options []core.Switched) error {
	if s.source == toggle.ByTimer {
		now = core.TimeOf(s.reference)
	}
	kinds, names := byKind(switched(items), switched(options))
	if len(names) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO item_switches AS w (business_id, store_id, kind, name, available, at)
		SELECT ?, ?, n.kind, n.name, ?::boolean, ?::timestamptz FROM unnest(?::smallint[], ?::text[]) AS n (kind, name)
		ON CONFLICT (business_id, store_id, kind, name) DO UPDATE SET available = excluded.available, at = greatest(w.at, excluded.at)`,
		s.business, s.storeID, s.enable, now, array(kinds), array(names))
	if err != nil {
		return fmt.Errorf("noting what was switched: %w", err)
	}
	return nil
}

// switched are the ref_ids of what could be switched.
func switched(list []core.Switched) (names []string) {
	for _, thing := range list {
		if thing.Reason == "" {
			names = append(names, thing.RefID)
		}
	}
	return names
}

func byKind(items, options []string) (kinds []int64, names []string) {
	for range items {
		kinds = append(kinds, int64(menu.Items))
	}
	for range options {
		kinds = append(kinds, int64(menu.Options))
	}
	return kinds, slices.Concat(items, options)
}

// forgetTurnOns takes away what was to be turned on of these items and options.
func forgetTurnOns(ctx context.Context, tx bun.IDB, business core.BusinessID, store int64, items, options []string) error {
	kinds, names := byKind(items, options)
	if len(names) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM item_turn_ons t USING unnest(?::smallint[], ?::text[]) AS n (kind, name)
		WHERE t.business_id = ? AND t.store_id = ? AND t.kind = n.kind AND t.name = n.name`, array(kinds), array(names), business, store); err != nil {
		return fmt.Errorf("forgetting what was to be turned on: %w", err)
	}
	return nil
}

// switchItems changes the menu and tells of it. The caller has locked the menu.
func (t Toggles) switchItems(ctx context.Context, tx bun.Conn, box *outbox, s itemSwitch) (platforms int, undone []core.Switched, err error) {
	loader := menuLoader{ctx: ctx, tx: tx, business: s.business, store: s.storeID}
	asked := menu.Switch{Scope: menu.Scope{LocationRefID: s.storeRef, StoreID: s.storeID}, Items: s.items, Options: s.options, Available: s.enable}
	state, err := loader.state(asked.Needs())
	if err != nil {
		return 0, nil, err
	}
	plan, items, options := asked.Decide(state)
	if err := s.schedule(ctx, tx, items, options); err != nil {
		return 0, nil, err
	}
	if err := s.note(ctx, tx, t.clock.Now(), items, options); err != nil {
		return 0, nil, err
	}
	if err := t.writeSwitch(ctx, tx, s, &plan); err != nil {
		return 0, nil, err
	}
	places, versions, err := t.placesOf(ctx, tx, s)
	if err != nil {
		return 0, nil, err
	}
	blocked, err := blockedItems(ctx, tx, s.business, state.Items)
	if err != nil {
		return 0, nil, err
	}
	var calls []newCall
	var events []core.Event
	for i, p := range places {
		now := t.clock.Now().Add(time.Duration(2*i) * time.Microsecond) // so that ids sort as they come
		here := listedHere(items, state.Items, p.Platform, blocked[p.Platform])
		told := relay.ItemActionPayload{Outlet: p.outlet(now), Items: here, Options: options, Version: versions[p.Platform] + marks(s, &plan)}
		if ofItems, ofOptions := told.Told(); p.servedBy == core.ServedByOwn || len(ofItems)+len(ofOptions) == 0 {
			more, err := toggle.Outcome{Switch: p.Switch, Done: true, At: now}.ItemEvents(here, options)
			if err != nil {
				return 0, nil, err
			}
			events = append(events, more...)
			continue
		}
		call, err := p.call(relay.ItemAction, told, now)
		if err != nil {
			return 0, nil, err
		}
		calls = append(calls, call)
	}
	if err := box.call(ctx, tx, calls); err != nil { // its lines are locked before the publications, as by Finish
		return 0, nil, err
	}
	if err := t.publishSwitch(ctx, tx, s, &plan); err != nil {
		return 0, nil, err
	}
	undone = slices.DeleteFunc(slices.Concat(items, options), func(thing core.Switched) bool { return thing.Reason == "" })
	return len(places), undone, box.publish(ctx, tx, events...)
}

// writeSwitch writes what a switch changes of the menu, as a revision.
func (t Toggles) writeSwitch(ctx context.Context, tx bun.Conn, s itemSwitch, plan *menu.Plan) error {
	if !plan.Changes() {
		return nil
	}
	revision, err := t.beginRevision(ctx, tx)
	if err != nil {
		return err
	}
	writer := menuWriter{ctx: ctx, tx: tx, business: s.business, now: t.clock.Now()}
	if err := writer.write(plan); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO revisions (business_id, id, reference, kind, subject, actor, at) VALUES (?, ?, ?, 'switch', ?, ?, ?)`,
		s.business, revision, s.reference, s.storeRef, s.actor, t.clock.Now()); err != nil {
		return fmt.Errorf("keeping a revision: %w", err)
	}
	return nil
}

// publishSwitch marks the menus that a switch changed. What was switched on is
// published at once: the platform may not have it any more.
func (t Toggles) publishSwitch(ctx context.Context, tx bun.Conn, s itemSwitch, plan *menu.Plan) error {
	if err := t.publishMenus(ctx, tx, core.Job{ID: s.reference, Business: s.business}, s.storeID, plan.Reach()); err != nil || !s.enable || !plan.Changes() {
		return err
	}
	_, err := t.publishDue(ctx, tx, due{
		reference: s.reference, now: true, condition: publishedOn + ` AND s.business_id = ? AND s.id = ?`, args: []any{s.business, s.storeID},
	})
	return err
}

// marks is how often publishSwitch marks the menu of the store.
func marks(s itemSwitch, plan *menu.Plan) (n int64) {
	if plan.Reach().Any() {
		n++
	}
	if s.enable && plan.Changes() {
		n++
	}
	return n
}

// placesOf are the platforms on which the store is listed, and, by their names,
// the versions of its publications there.
func (t Toggles) placesOf(ctx context.Context, tx bun.Conn, s itemSwitch) (list []place, versions map[string]int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+placeColumns+`, coalesce(x.version, 0) FROM stores s JOIN platforms f ON f.business_id = s.business_id
		LEFT JOIN publications x ON x.business_id = s.business_id AND x.store_id = s.id AND x.platform = f.name
		WHERE s.business_id = ? AND s.id = ? AND `+listedOn+` ORDER BY f.name`, s.business, s.storeID)
	if err != nil {
		return nil, nil, fmt.Errorf("reading platforms: %w", err)
	}
	defer rows.Close()
	versions = map[string]int64{}
	for rows.Next() {
		var p place
		var version int64
		if err := rows.Scan(append(p.fields(), &version)...); err != nil {
			return nil, nil, fmt.Errorf("reading platforms: %w", err)
		}
		p.Enable, p.Source, p.Reference, p.actor = s.enable, s.source, s.reference, s.actor
		list, versions[p.Platform] = append(list, p), version
	}
	return list, versions, rows.Err()
}

// blockedItems are those that the rules of platforms refuse, and why, by platform.
func blockedItems(ctx context.Context, tx bun.Conn, business core.BusinessID, items []menu.Item) (map[string]map[int64]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT platform, item_id, message FROM platform_findings WHERE business_id = ? AND item_id = ANY (?::bigint[])`,
		business, array(idsOf(items, itemRef)))
	if err != nil {
		return nil, fmt.Errorf("reading findings: %w", err)
	}
	defer rows.Close()
	blocked := map[string]map[int64]string{}
	for rows.Next() {
		var platform, message string
		var id int64
		if err := rows.Scan(&platform, &id, &message); err != nil {
			return nil, fmt.Errorf("reading findings: %w", err)
		}
		if blocked[platform] == nil {
			blocked[platform] = map[int64]string{}
		}
		blocked[platform][id] = message
	}
	return blocked, rows.Err()
}

// listedHere are the items as they stand on a platform: some are not listed there.
func listedHere(items []core.Switched, records []menu.Item, platform string, blocked map[int64]string) []core.Switched {
	listed := make(map[int64]bool, len(records))
	for i := range records {
		listed[records[i].ID] = records[i].ListedOn(platform)
	}
	here := slices.Clone(items)
	for i, item := range here {
		switch {
		case item.Reason != "":
		case !listed[item.ID]:
			here[i].Reason = "the item is not listed on this platform"
		case blocked[item.ID] != "":
			here[i].Reason = "the item is not listed on this platform: " + blocked[item.ID]
		}
	}
	return here
}
