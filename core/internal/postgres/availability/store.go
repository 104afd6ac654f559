// Package availability enables and disables stores, items and options.
package availability

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files, outbox.Parts())

// Store stores the availability of stores, items and options (toggle.TimerStorage).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// platformSwitch is a platform on which a store or its items change availability.
type platformSwitch struct {
	toggle.Switch
	servedBy        string // of the platform
	platformStoreID string
	takesOrders     bool // the store is active and takes orders, apart from its switches
	reason          string
	why             string // of a user
	actor           string
	changed         bool      // the state differed before
	turnOnAt        time.Time // of closing and disabling; zero: no time
}

// switchColumns are the columns of a platformSwitch, without its state.
var switchColumns = bun.Safe(queries.With("switch_columns", postgres.Args{
	"given_id": bun.Safe(platforms.PlatformStoreID), "sent_name": outbox.SentName,
}))

func (p *platformSwitch) fields() []any {
	return []any{&p.Business, &p.StoreID, &p.StoreRef, &p.Platform, &p.EventAlias, &p.servedBy, &p.platformStoreID,
		&p.takesOrders}
}

// SwitchStore opens or closes a store on the named platforms, or on all platforms that list
// it. It returns NotFound for an unknown store or platform.
func (t Store) SwitchStore(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID,
	actor string) (accepted toggle.Accepted, err error) {
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		on, err := chooseStore(ctx, tx, business, r)
		if err != nil {
			return err
		}
		request := storeSwitch{enable: r.Action == toggle.Enable, source: toggle.SourceAPI, reference: reference,
			actor: actor, turnOnAt: r.TurnOnAt, selection: on.selection}
		switches, err := t.switchStore(ctx, tx, business, on.store, request)
		accepted = toggle.Accepted{Platforms: len(switches), Warnings: r.UnlistedWarnings(on.named, on.listed)}
		if err := t.notifyPlatforms(ctx, tx, box, switches, err); err != nil {
			return err
		}
		if err := t.notifyTimer(ctx, tx, r.TurnOnAt); err != nil {
			return err
		}
		return publications.StoreUnnotified(ctx, tx, business, reference, len(switches))
	})
	return accepted, err
}

// silenceChange closes or opens a store whose POS is silent or has been silent.
type silenceChange struct {
	business core.BusinessID
	store    int64
	closed   bool
	reason   string
}

// closeStore closes a silent store wherever it is open. With closed unset it opens the store
// where this function had closed it.
func (t Store) closeStore(ctx context.Context, tx bun.Conn, box *outbox.Outbox, c silenceChange) error {
	request := storeSwitch{
		enable: !c.closed, source: toggle.SourcePresence, reason: c.reason, reference: core.NewID(t.db.Clock().Now()),
		actor: "hub",
		selection: publications.ListedOn + ` AND NOT EXISTS (SELECT 1 FROM store_switches closed
			WHERE closed.business_id = store.business_id AND closed.store_id = store.id
				AND closed.platform = platform.name AND NOT closed.open)`,
		ifCurrent: `switch.open`,
	}
	if !c.closed {
		request.selection = `EXISTS (SELECT 1 FROM store_switches closed
			WHERE closed.business_id = store.business_id AND closed.store_id = store.id
				AND closed.platform = platform.name AND NOT closed.open AND closed.source = 'presence')`
		request.ifCurrent = `NOT switch.open AND switch.source = 'presence'`
	}
	switches, err := t.switchStore(ctx, tx, c.business, c.store, request)
	return t.notifyPlatforms(ctx, tx, box, switches, err)
}

// storeSwitch describes a change of a store on platforms.
type storeSwitch struct {
	enable                bool
	source, reason, actor string
	reference             core.ID
	turnOnAt              time.Time // zero: never
	selection             bun.Safe  // condition on the rows store and platform
	ifCurrent             bun.Safe  // condition on the existing row switch, evaluated once it is locked
}

func (t Store) switchStore(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64,
	a storeSwitch) ([]platformSwitch, error) {
	list, err := readSwitches(ctx, tx, queries.With("switch_store", postgres.Args{
		"business": business, "store": store, "which": a.selection, "still": cmp.Or(a.ifCurrent, "true"),
		"open":   a.enable,
		"source": a.source, "reason": postgres.CleanText(a.reason), "actor": a.actor,
		"reference": a.reference.String(), "now": t.db.Clock().Now(), "turn_on_at": postgres.NullTime(a.turnOnAt),
		"columns": switchColumns,
	}))
	for i := range list {
		list[i].turnOnAt = a.turnOnAt
	}
	return list, err
}

// readSwitches runs a statement that returns platform switches with their state.
func readSwitches(ctx context.Context, tx bun.IDB, query string) (list []platformSwitch, err error) {
	return postgres.Collect(ctx, tx, "switching stores", func(p *platformSwitch) []any {
		return append(p.fields(), &p.Enable, &p.Source, &p.reason, &p.actor, &p.Reference, &p.changed)
	}, bun.SafeQuery(query))
}

// notifyPlatforms queues calls to the aggregators of switched stores. The merchant's own platforms
// read the state from the hub, so their outcome event is published at once.
func (t Store) notifyPlatforms(ctx context.Context, tx bun.Conn, box *outbox.Outbox, switches []platformSwitch,
	err error) error {
	if err != nil {
		return err
	}
	var calls []outbox.Call
	var events []core.Event
	for i, p := range switches {
		now := t.db.Clock().Now().Add(time.Duration(i) * time.Microsecond) // so that ids sort by arrival
		if p.servedBy == core.ServedByMerchant {
			event, err := toggle.Outcome{Switch: p.Switch, Done: true, Message: p.reason, At: now}.StoreEvent()
			if err != nil {
				return err
			}
			events = append(events, event)
			continue
		}
		payload := relay.StoreActionPayload{PlatformStore: p.platformStore(now)}
		payload.StaysClosed = p.Workload == nil && p.Enable && !p.takesOrders
		call, err := p.call(relay.StoreAction, payload, now)
		if err != nil {
			return err
		}
		calls = append(calls, call)
	}
	if err := box.QueueCalls(ctx, tx, calls); err != nil {
		return err
	}
	if err := t.auditStores(ctx, tx, switches); err != nil {
		return err
	}
	return box.Publish(ctx, tx, events...)
}

// auditStores writes an audit entry per request and store if the state changed. The switches of one
// request and store must be adjacent.
func (t Store) auditStores(ctx context.Context, tx bun.Conn, switches []platformSwitch) error {
	for len(switches) > 0 {
		p, names, n := switches[0], []string{}, 0
		for ; n < len(switches) && switches[n].StoreID == p.StoreID && switches[n].Reference == p.Reference; n++ {
			if switches[n].changed {
				names = append(names, switches[n].Platform)
			}
		}
		if switches = switches[n:]; len(names) == 0 {
			continue
		}
		change := access.Change{Business: p.Business, Actor: p.actor, Action: "store.close",
			Object: fmt.Sprintf("store/%d", p.StoreID), Why: cmp.Or(p.why, p.reason),
			After: map[string]any{"platforms": names, "source": p.Source, "reference": p.Reference.String()}}
		if p.Enable {
			change.Action = "store.open"
		}
		if w := p.Workload; w != nil {
			change.Action = "store." + string(p.Action())
			change.After["workload"] = *w
		}
		if err := audit.Record(ctx, t.db, tx, change); err != nil {
			return err
		}
	}
	return nil
}

func (p *platformSwitch) platformStore(at time.Time) relay.PlatformStore {
	store := relay.PlatformStore{
		StoreID: p.StoreID, StoreRefID: p.StoreRef, PlatformStoreID: p.platformStoreID,
		Reference: p.Reference, Source: p.Source, Enable: p.Enable, At: at.UnixMilli(),
		Workload: p.Workload,
	}
	if !p.turnOnAt.IsZero() {
		store.TurnOnAt = p.turnOnAt.UnixMilli()
	}
	return store
}

// call returns the call to a platform. The store's ordering key keeps the calls in sequence.
func (p *platformSwitch) call(kind relay.Kind, payload any, at time.Time) (outbox.Call, error) {
	text, err := json.Marshal(payload)
	return outbox.Call{
		Business: p.Business, ID: core.NewID(at), Kind: kind, OrderingKey: relay.StoreKey(p.Platform, p.StoreID),
		Platform: p.Platform,
		Payload:  text, Actor: p.actor, At: at,
	}, err
}
