package availability

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// itemSwitch is a change of availability of a store's items and options.
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

// SwitchItems makes items and options of a store available or unavailable and notifies the
// platforms that list the store.
//
// It returns NotFound for an unknown store. It returns Unavailable if the menu stayed locked
// until the context ended.
func (t Store) SwitchItems(ctx context.Context, business core.BusinessID, r toggle.ItemRequest, reference core.ID,
	actor string) (accepted toggle.Accepted, err error) {
	change := func() error {
		return outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
			store, err := publications.StoreID(ctx, tx, business, r.LocationRefID)
			if err != nil {
				return err
			}
			if err := menus.TryLockMenu(ctx, tx, business); err != nil {
				return err
			}
			s := itemSwitch{
				business: business, storeID: store, storeRef: r.LocationRefID, items: r.Items, options: r.Options,
				enable: r.Action == toggle.Enable, source: toggle.SourceAPI, actor: actor, reference: reference,
				turnOnAt: r.TurnOnAt,
			}
			n, undone, err := t.switchItems(ctx, tx, box, s)
			if err != nil {
				return err
			}
			if err := t.notifyTimer(ctx, tx, r.TurnOnAt); err != nil {
				return err
			}
			accepted = toggle.Accepted{Platforms: n, Failed: undone, Warnings: r.UnlistedWarnings(n)}
			return publications.StoreUnnotified(ctx, tx, business, reference, n)
		})
	}
	err = menus.MenuMutex(t.db).Do(ctx, business, change)
	return accepted, err
}

// schedule replaces the timers of the switched items and options.
func (s itemSwitch) schedule(ctx context.Context, tx bun.Conn, items, options []core.AvailabilityResult) error {
	kinds, names := menus.ByKind(switchedNames(items), switchedNames(options))
	if err := menus.DeleteTimers(ctx, tx, s.business, menus.StoreEntities{Store: s.storeID,
		Items: switchedNames(items), Options: switchedNames(options)}); err != nil ||
		s.turnOnAt.IsZero() {
		return err
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO item_timers (business_id, store_id, kind, name, reference, actor, turn_on_at)
		SELECT ?, ?, n.kind, n.name, ?, ?, ? FROM unnest(?::smallint[], ?::text[]) AS n (kind, name)`,
		s.business, s.storeID, s.reference, s.actor, s.turnOnAt, postgres.Array(kinds), postgres.Array(names))
	if err != nil {
		return fmt.Errorf("storing timed availability changes: %w", err)
	}
	return nil
}

// recordTime records the time of the request, so that an earlier menu request does not undo it. A
// timer has the time of the request that set it.
func (s itemSwitch) recordTime(ctx context.Context, tx bun.Conn, now time.Time, items,
	options []core.AvailabilityResult) error {
	if s.source == toggle.SourceTimer {
		now = core.TimeOf(s.reference)
	}
	kinds, names := menus.ByKind(switchedNames(items), switchedNames(options))
	if len(names) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, queries.With("record_switches", postgres.Args{
		"business": s.business, "store": s.storeID, "available": s.enable, "now": now,
		"kinds": postgres.Array(kinds), "names": postgres.Array(names),
	}))
	if err != nil {
		return fmt.Errorf("recording availability changes: %w", err)
	}
	return nil
}

// switchedNames returns the ref_ids of the entities that could be switched.
func switchedNames(list []core.AvailabilityResult) (names []string) {
	for _, entity := range list {
		if entity.Reason == "" {
			names = append(names, entity.RefID)
		}
	}
	return names
}

// switchItems changes the menu and notifies the platforms. The caller has locked the menu.
func (t Store) switchItems(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	s itemSwitch) (platforms int, undone []core.AvailabilityResult, err error) {
	loader := menus.MenuLoader{Ctx: ctx, Tx: tx, Business: s.business, Store: s.storeID}
	request := menu.AvailabilityChange{Scope: menu.Scope{LocationRefID: s.storeRef, StoreID: s.storeID}, Items: s.items,
		Options: s.options, Available: s.enable}
	state, err := loader.State(request.ReadSet())
	if err != nil {
		return 0, nil, err
	}
	plan, items, options := request.Decide(state)
	if err := s.schedule(ctx, tx, items, options); err != nil {
		return 0, nil, err
	}
	if err := s.recordTime(ctx, tx, t.db.Clock().Now(), items, options); err != nil {
		return 0, nil, err
	}
	if err := t.writeSwitch(ctx, tx, s, &plan); err != nil {
		return 0, nil, err
	}
	platformSwitches, versions, err := t.listingPlatforms(ctx, tx, s)
	if err != nil {
		return 0, nil, err
	}
	blocked, err := blockedItems(ctx, tx, s.business, state.Items)
	if err != nil {
		return 0, nil, err
	}
	var calls []outbox.Call
	var events []core.Event
	for i, p := range platformSwitches {
		now := t.db.Clock().Now().Add(time.Duration(2*i) * time.Microsecond) // so that ids sort by arrival
		onPlatform := itemsOnPlatform(items, state.Items, p.Platform, blocked[p.Platform])
		payload := relay.ItemActionPayload{PlatformStore: p.platformStore(now), Items: onPlatform, Options: options,
			Version: versions[p.Platform] + countMarks(s, &plan)}
		if ofItems, ofOptions := payload.SentRefIDs(); p.servedBy == core.ServedByMerchant ||
			len(ofItems)+len(ofOptions) == 0 {
			more, err := toggle.Outcome{Switch: p.Switch, Done: true, At: now}.ItemEvents(onPlatform, options)
			if err != nil {
				return 0, nil, err
			}
			events = append(events, more...)
			continue
		}
		call, err := p.call(relay.ItemAction, payload, now)
		if err != nil {
			return 0, nil, err
		}
		calls = append(calls, call)
	}
	if err := box.QueueCalls(ctx, tx, calls); err != nil { // lock ordering keys before publications, like Finish
		return 0, nil, err
	}
	if err := t.publishSwitch(ctx, tx, s, &plan); err != nil {
		return 0, nil, err
	}
	undone = slices.DeleteFunc(slices.Concat(items, options),
		func(entity core.AvailabilityResult) bool { return entity.Reason == "" })
	return len(platformSwitches), undone, box.Publish(ctx, tx, events...)
}

// writeSwitch writes the menu changes of a switch, as a revision.
func (t Store) writeSwitch(ctx context.Context, tx bun.Conn, s itemSwitch, plan *menu.Plan) error {
	if !plan.HasChanges() {
		return nil
	}
	revision, err := revisions.Begin(ctx, t.db, tx)
	if err != nil {
		return err
	}
	writer := menus.MenuWriter{Ctx: ctx, Tx: tx, Business: s.business, Now: t.db.Clock().Now()}
	if err := writer.Write(plan); err != nil {
		return err
	}
	return postgres.Exec(ctx, tx, "storing a revision",
		`INSERT INTO revisions (business_id, id, reference, kind, subject, actor, at)
			VALUES (?, ?, ?, 'switch', ?, ?, ?)`,
		s.business, revision.ID, s.reference, s.storeRef, s.actor, t.db.Clock().Now())
}

// publishSwitch marks the menus that a switch changed. It publishes enabled items at once, because
// the platform may lack them.
func (t Store) publishSwitch(ctx context.Context, tx bun.Conn, s itemSwitch, plan *menu.Plan) error {
	if err := publications.PublishMenus(ctx, t.db, tx, publications.MenuChange{
		Job: core.Job{ID: s.reference, Business: s.business}, Store: s.storeID, Affected: plan.AffectedStores(),
	}); err != nil || !s.enable || !plan.HasChanges() {
		return err
	}
	_, err := publications.MarkDue(ctx, t.db, tx, publications.Selector{
		Reference: s.reference, Now: true,
		Condition: publications.PublishedOn + ` AND store.business_id = ? AND store.id = ?`,
		Args:      []any{s.business, s.storeID},
	})
	return err
}

// countMarks returns the number of times that publishSwitch marks the store's menu.
func countMarks(s itemSwitch, plan *menu.Plan) (n int64) {
	if plan.AffectedStores().Any() {
		n++
	}
	if s.enable && plan.HasChanges() {
		n++
	}
	return n
}

// listingPlatforms returns the platforms that list the store, and the versions of its publications
// by platform name.
func (t Store) listingPlatforms(ctx context.Context, tx bun.Conn,
	s itemSwitch) (list []platformSwitch, versions map[string]int64, err error) {
	rows, err := tx.QueryContext(ctx, queries.With("listing_platforms", postgres.Args{
		"business": s.business, "store": s.storeID, "columns": switchColumns,
		"listed_on": bun.Safe(publications.ListedOn),
	}))
	if err != nil {
		return nil, nil, fmt.Errorf("reading platforms: %w", err)
	}
	defer rows.Close()
	versions = map[string]int64{}
	for rows.Next() {
		var p platformSwitch
		var version int64
		if err := rows.Scan(append(p.fields(), &version)...); err != nil {
			return nil, nil, fmt.Errorf("reading platforms: %w", err)
		}
		p.Enable, p.Source, p.Reference, p.actor, p.turnOnAt = s.enable, s.source, s.reference, s.actor, s.turnOnAt
		list, versions[p.Platform] = append(list, p), version
	}
	return list, versions, rows.Err()
}

// blockedItems returns the findings that block items, by platform and item.
func blockedItems(ctx context.Context, tx bun.Conn, business core.BusinessID,
	items []menu.Item) (map[string]map[int64]string, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT platform, item_id, message FROM platform_findings
		WHERE business_id = ? AND item_id = ANY (?::bigint[]) AND NOT warning`,
		business, postgres.Array(menus.IDsOf(items, menus.ItemRef)))
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

// itemsOnPlatform returns the items for one platform, with a reason for those it does not list.
func itemsOnPlatform(items []core.AvailabilityResult, records []menu.Item, platform string,
	blocked map[int64]string) []core.AvailabilityResult {
	listed := make(map[int64]bool, len(records))
	for i := range records {
		listed[records[i].ID] = records[i].ListedOn(platform)
	}
	onPlatform := slices.Clone(items)
	for i, item := range onPlatform {
		switch {
		case item.Reason != "":
		case !listed[item.ID]:
			onPlatform[i].Reason = "the item is not listed on this platform"
		case blocked[item.ID] != "":
			onPlatform[i].Reason = "the item is not listed on this platform: " + blocked[item.ID]
		}
	}
	return onPlatform
}
