package availability

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// endedSwitch is an ended call that switched a store or its items.
type endedSwitch struct {
	call    calls.Ended
	payload relay.ItemActionPayload // for a store action only the platform store
}

func (t endedSwitch) failed() bool { return t.call.State != string(relay.Done) }

// SwitchesEnded returns a function that reports the outcomes of availability calls as
// events. It republishes menus whose platform state may differ.
func SwitchesEnded(db *postgres.DB) calls.OnEnded {
	return func(ctx context.Context, tx bun.Conn, ended []calls.Ended) ([]core.Event, error) {
		return switchesEnded(ctx, db, tx, ended)
	}
}

func switchesEnded(ctx context.Context, db *postgres.DB, tx bun.Conn,
	ended []calls.Ended) (events []core.Event, err error) {
	var list, workloads []endedSwitch
	for _, c := range ended {
		if c.Kind != relay.StoreAction && c.Kind != relay.ItemAction || c.State == string(relay.Pending) {
			continue
		}
		t := endedSwitch{call: c}
		if err := json.Unmarshal([]byte(c.Payload), &t.payload); err != nil {
			return nil, fmt.Errorf("reading a stored call: %w", err)
		}
		now := db.Clock().Now().Add(time.Duration(len(events)) * time.Microsecond) // so that ids sort by arrival
		more, err := t.events(now)
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
		if t.payload.Workload != nil {
			workloads = append(workloads, t)
			continue
		}
		list = append(list, t)
	}
	if err := undoWorkloads(ctx, tx, workloads); err != nil {
		return nil, err
	}
	return events, republishEnded(ctx, db, tx, list)
}

func (t endedSwitch) events(now time.Time) ([]core.Event, error) {
	p := &t.payload
	o := toggle.Outcome{At: now, Done: !t.failed(), Message: t.call.Message, Switch: toggle.Switch{
		Business: t.call.Business, StoreID: p.StoreID, StoreRef: p.StoreRefID, Platform: t.call.Platform,
		EventAlias: t.call.SentAs, Enable: p.Enable, Workload: p.Workload, Source: p.Source,
		Reference: p.Reference,
	}}
	if t.call.Kind == relay.StoreAction {
		event, err := o.StoreEvent()
		return []core.Event{event}, err
	}
	var rejections []relay.Rejection
	if t.call.Result != "" {
		if err := json.Unmarshal([]byte(t.call.Result), &rejections); err != nil {
			return nil, fmt.Errorf("reading the rejections of a platform: %w", err)
		}
	}
	for _, r := range rejections {
		// Some aggregators do not distinguish options from items.
		if r.Entity == "option" || !recordRejection(p.Items, r) {
			recordRejection(p.Options, r)
		}
	}
	return o.ItemEvents(p.Items, p.Options)
}

// recordRejection records the reason of a rejection, and reports whether its entity is in the list.
func recordRejection(list []core.AvailabilityResult, r relay.Rejection) bool {
	for i := range list {
		if list[i].RefID == r.RefID {
			list[i].Reason = cmp.Or(list[i].Reason, cmp.Or(r.Message, "the platform refused it"))
			return true
		}
	}
	return false
}

// republishEnded republishes the whole menu after a failed call. It also does so if a menu was
// published during the call, because either may have overwritten the other. Finally each platform
// has the hub's state.
func republishEnded(ctx context.Context, db *postgres.DB, tx bun.Conn, list []endedSwitch) error {
	n := len(list)
	if n == 0 {
		return nil
	}
	businesses, stores, versions := make([]int64, n), make([]int64, n), make([]int64, n)
	platforms, at, failed := make([]string, n), make([]string, n), make([]bool, n)
	for i, t := range list {
		businesses[i], stores[i], platforms[i], versions[i] = int64(t.call.Business), t.payload.StoreID,
			t.call.Platform, t.payload.Version
		at[i], failed[i] = time.UnixMilli(t.payload.At).Add(-clockMargin).UTC().Format(time.RFC3339Nano), t.failed()
	}
	_, err := publications.MarkDue(ctx, db, tx, publications.Selector{
		Reference: core.NewID(db.Clock().Now()), StateUnknown: true,
		Condition: publications.PublishedOn + ` AND ?`,
		Args: []any{bun.Safe(queries.With("ended_switches", postgres.Args{
			"businesses": postgres.Array(businesses), "stores": postgres.Array(stores),
			"platforms": postgres.Array(platforms), "versions": postgres.Array(versions), "at": postgres.Array(at),
			"failed": postgres.Array(failed),
		}))},
	})
	return err
}

// clockMargin bounds the difference between the clocks of replicas.
const clockMargin = 5 * time.Second
