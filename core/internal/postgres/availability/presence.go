package availability

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/sweep"
	"github.com/servery-hub/servery/core/presence"
)

// Presence stores the last heartbeat of the POS of each store (presence.Repository).
type Presence struct{ db *postgres.DB }

// NewPresence returns a Presence that uses db.
func NewPresence(db *postgres.DB) Presence { return Presence{db} }

// minHeartbeatStep is the minimum age difference for a write, because several replicas receive
// heartbeats of one store.
const minHeartbeatStep = 30 * time.Second

// SaveHeartbeats stores heartbeats in one statement, in key order.
func (p Presence) SaveHeartbeats(ctx context.Context, signs map[presence.Heartbeat]time.Time) error {
	n := len(signs)
	businesses, stores, orders := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	refs, at := make([]string, 0, n), make([]string, 0, n)
	for sign, seen := range signs {
		businesses, stores, orders = append(businesses, int64(sign.Business)), append(stores, sign.StoreID),
			append(orders, sign.OrderID)
		refs, at = append(refs, sign.StoreRef), append(at, seen.UTC().Format(time.RFC3339Nano))
	}
	_, err := p.db.Bun().ExecContext(ctx, queries.With("store_heartbeats", postgres.Args{
		"businesses": postgres.Array(businesses), "stores": postgres.Array(stores), "refs": postgres.Array(refs),
		"orders": postgres.Array(orders), "at": postgres.Array(at), "step_seconds": int(minHeartbeatStep / time.Second),
	}))
	if err != nil {
		return fmt.Errorf("storing store heartbeats: %w", err)
	}
	return nil
}

// Review calls check for the stores whose last heartbeat is too old and for those already silent.
// It stores and returns the changes.
func (p Presence) Review(ctx context.Context, after time.Duration,
	check func(presence.Store) (time.Time, error)) (changes []presence.Change, err error) {
	err = sweep.Run(ctx, p.db, "presence", func(tx bun.Conn, _ time.Time) (time.Time, error) {
		now := p.db.Clock().Now()
		list, err := p.stores(ctx, tx, after,
			`silence.after_s > 0 AND presence.seen_at <= ?::timestamptz - silence.after_s * interval '1 second'
				OR presence.silent_since IS NOT NULL`, now)
		if err != nil {
			return now, err
		}
		var businesses, stores []int64
		var since, seen []string
		for _, s := range list {
			silentSince, err := check(s)
			if err != nil {
				return now, fmt.Errorf("checking the presence of store %d: %w", s.ID, err)
			}
			if silentSince.Equal(s.SilentSince) {
				continue
			}
			businesses, stores = append(businesses, int64(s.Business)), append(stores, s.ID)
			changed, text := presence.Change{Store: s, Silent: !silentSince.IsZero()}, ""
			if changed.Silent {
				changed.SilentSince, text = silentSince, silentSince.UTC().Format(time.RFC3339Nano)
			}
			seen = append(seen, s.SeenAt.UTC().Format(time.RFC3339Nano))
			since, changes = append(since, text), append(changes, changed)
		}
		if len(changes) == 0 {
			return now, nil
		}
		var stored []int64
		if err := tx.NewRaw(queries.With("set_silent", postgres.Args{
			"businesses": postgres.Array(businesses), "stores": postgres.Array(stores), "since": postgres.Array(since),
			"seen": postgres.Array(seen),
		})).Scan(ctx, &stored); err != nil {
			return now, fmt.Errorf("storing which stores are silent: %w", err)
		}
		changes = slices.DeleteFunc(changes, func(c presence.Change) bool { return !slices.Contains(stored, c.ID) })
		return now, nil
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// PendingStores returns the stores whose closed state does not match their silence.
func (p Presence) PendingStores(ctx context.Context) ([]presence.Store, error) {
	return p.stores(ctx, p.db.Bun(), 0,
		`presence.closed_for_silence <> (presence.silent_since IS NOT NULL
			AND coalesce(rule.close_silent_stores, false))
			ORDER BY presence.business_id, presence.store_id`)
}

// SetClosed closes or opens a pending store, and records it in the same transaction.
func (p Presence) SetClosed(ctx context.Context, s presence.Store, closed bool, reason string) error {
	t := New(p.db)
	return outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		result, err := tx.ExecContext(ctx,
			`UPDATE pos_presence SET closed_for_silence = ?0 WHERE business_id = ?1 AND store_id = ?2
				AND closed_for_silence <> ?0
			AND (NOT ?0 OR silent_since IS NOT NULL)`, closed, s.Business, s.ID)
		if err != nil {
			return fmt.Errorf("recording that a silent store is closed: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return t.closeStore(ctx, tx, box, silenceChange{s.Business, s.ID, closed, reason})
	})
}

func (p Presence) stores(ctx context.Context, in bun.IDB, after time.Duration, condition string,
	args ...any) ([]presence.Store, error) {
	rows, err := in.QueryContext(ctx, queries.With("read", postgres.Args{
		"after_seconds": int(after / time.Second), "which": bun.SafeQuery(condition, args...),
	}))
	if err != nil {
		return nil, fmt.Errorf("reading store heartbeats: %w", err)
	}
	defer rows.Close()
	list := []presence.Store{}
	now := p.db.Clock().Now()
	for rows.Next() {
		var s presence.Store
		var zone string
		var seconds int
		if err := rows.Scan(&s.Business, &s.ID, &s.RefID, &s.Name, &s.SeenAt, postgres.OrZero(&s.SilentSince),
			&s.Timings, &s.SpecialTimings, &s.TakesOrder, &zone, &seconds, &s.CloseWhenSilent); err != nil {
			return nil, fmt.Errorf("reading store heartbeats: %w", err)
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			return nil, err
		}
		s.LocalTime, s.SilenceLimit = now.In(location), time.Duration(seconds)*time.Second
		list = append(list, s)
	}
	return list, rows.Err()
}
