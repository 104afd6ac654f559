package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// told is what a platform was told of a store beside its menu.
type told struct {
	call    endedCall
	payload relay.ItemActionPayload // of a store's action the outlet alone
}

func (t told) failed() bool { return t.call.state != string(relay.Done) }

// switchesEnded tells what became of calls by which stores and what they sell went
// on or off, and has menus published where the platform may be otherwise.
func (q Calls) switchesEnded(ctx context.Context, tx bun.Conn, ended []endedCall) (events []core.Event, err error) {
	var list []told
	for _, c := range ended {
		if c.kind != relay.StoreAction && c.kind != relay.ItemAction {
			continue
		}
		t := told{call: c}
		if err := json.Unmarshal([]byte(c.payload), &t.payload); err != nil {
			return nil, fmt.Errorf("a stored call cannot be read: %w", err)
		}
		now := q.clock.Now().Add(time.Duration(2*len(list)) * time.Microsecond) // so that ids sort as they come
		more, err := t.events(now)
		if err != nil {
			return nil, err
		}
		list, events = append(list, t), append(events, more...)
	}
	return events, q.publishTold(ctx, tx, list)
}

func (t told) events(now time.Time) ([]core.Event, error) {
	p := &t.payload
	o := toggle.Outcome{At: now, Done: !t.failed(), Message: t.call.message, Switch: toggle.Switch{
		Business: t.call.business, StoreID: p.StoreID, StoreRef: p.StoreRefID, Platform: t.call.platform,
		Enable: p.Enable, Source: p.Source, Reference: p.Reference,
	}}
	if t.call.kind == relay.StoreAction {
		event, err := o.StoreEvent()
		return []core.Event{event}, err
	}
	var refused []relay.Refusal
	if t.call.result != "" {
		if err := json.Unmarshal([]byte(t.call.result), &refused); err != nil {
			return nil, fmt.Errorf("what a platform refused cannot be read: %w", err)
		}
	}
	for _, r := range refused {
		// Some aggregators do not tell options from items.
		if r.Entity == "option" || !refuse(p.Items, r) {
			refuse(p.Options, r)
		}
	}
	return o.ItemEvents(p.Items, p.Options)
}

// refuse notes what the platform did not do; false where it is not among the list.
func refuse(list []core.Switched, r relay.Refusal) bool {
	for i := range list {
		if list[i].RefID == r.RefID {
			list[i].Reason = cmp.Or(list[i].Reason, cmp.Or(r.Message, "the platform refused it"))
			return true
		}
	}
	return false
}

// publishTold has the menu published, whole, where a platform was not told, or where
// what it was told may be older than a menu that it got meanwhile, or that menu
// older than what it was told. So in the end each has what the hub has.
func (q Calls) publishTold(ctx context.Context, tx bun.Conn, list []told) error {
	n := len(list)
	if n == 0 {
		return nil
	}
	businesses, stores, versions := make([]int64, n), make([]int64, n), make([]int64, n)
	platforms, at, again := make([]string, n), make([]string, n), make([]bool, n)
	for i, t := range list {
		businesses[i], stores[i], platforms[i], versions[i] = int64(t.call.business), t.payload.StoreID, t.call.platform, t.payload.Version
		at[i], again[i] = time.UnixMilli(t.payload.At).Add(-clockMargin).UTC().Format(time.RFC3339Nano), t.failed()
	}
	// A switch of items has marked its publication: what is newer came after it. One
	// of a store has not: what was under way since may have been read before it.
	_, err := q.publishDue(ctx, tx, due{
		reference: core.NewID(q.clock.Now()), unsure: true,
		condition: publishedOn + ` AND (s.business_id, s.id, f.name) IN (
			SELECT t.business_id, t.store_id, t.platform FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::timestamptz[], ?::boolean[])
				AS t (business_id, store_id, platform, version, at, again)
			LEFT JOIN publications p ON p.business_id = t.business_id AND p.store_id = t.store_id AND p.platform = t.platform
			WHERE t.again OR t.version > 0 AND p.version > t.version OR t.version = 0 AND (p.owner IS NOT NULL OR p.settled_at >= t.at))`,
		args: []any{array(businesses), array(stores), array(platforms), array(versions), array(at), array(again)},
	})
	return err
}

// clockMargin is by how much the clocks of replicas may differ.
const clockMargin = 5 * time.Second
