package deliveries

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

type healthRow struct {
	BusinessID   core.BusinessID `bun:"business_id"`
	Endpoint     int64           `bun:"endpoint"`
	Failures     int             `bun:"failures"`
	Since        time.Time       `bun:"since"`
	Status       int             `bun:"status"`
	Error        string          `bun:"error"`
	ProbingSince sql.NullTime    `bun:"probing_since"`
	NextProbe    sql.NullTime    `bun:"next_probe"`
	PauseMS      int64           `bun:"pause_ms"`
}

func (r healthRow) health() webhook.Health {
	return webhook.Health{
		Failures: r.Failures, Since: r.Since, Status: r.Status, Error: r.Error,
		OpenedAt: r.ProbingSince.Time, NextProbe: r.NextProbe.Time,
		Pause: time.Duration(r.PauseMS) * time.Millisecond,
	}
}

// updateHealth updates the circuits of the results' endpoints and returns those that opened or
// closed. An endpoint that stays healthy costs one read.
func (q Store) updateHealth(ctx context.Context, tx bun.Conn, results []webhook.Result,
	rules webhook.CircuitRules) (healthUpdate, error) {
	byEndpoint := map[int64][]webhook.Result{}
	var all, failing []int64
	for _, r := range results {
		endpoint := r.Delivery.Endpoint
		if byEndpoint[endpoint] == nil {
			all = append(all, endpoint)
		}
		byEndpoint[endpoint] = append(byEndpoint[endpoint], r)
		if r.Attempt.Unhealthy() {
			failing = append(failing, endpoint)
		}
	}
	slices.Sort(failing)
	failing = slices.Compact(failing)
	if err := q.insertHealth(ctx, tx, failing, byEndpoint); err != nil {
		return healthUpdate{}, err
	}
	rows, err := q.lockHealth(ctx, tx, all)
	if err != nil {
		return healthUpdate{}, err
	}
	var update healthUpdate
	var changed []healthRow
	var healthy []int64
	now := q.db.Clock().Now()
	for _, row := range rows {
		before := row.health()
		after := before
		for _, r := range byEndpoint[row.Endpoint] {
			if r.Delivery.Business == row.BusinessID {
				after = after.After(r, now, rules)
			}
		}
		switch {
		case after.Failures == 0:
			healthy = append(healthy, row.Endpoint)
			if before.CircuitOpen() {
				update.closed = append(update.closed, row)
			}
			continue
		case !before.CircuitOpen() && after.CircuitOpen():
			update.opened = append(update.opened, row)
		}
		if after.CircuitOpen() {
			update.probed = append(update.probed, row.Endpoint)
		}
		row.Failures, row.Since, row.Status, row.Error, row.PauseMS = after.Failures, after.Since, after.Status,
			after.Error, after.Pause.Milliseconds()
		row.ProbingSince, row.NextProbe = postgres.NullTime(after.OpenedAt), postgres.NullTime(after.NextProbe)
		changed = append(changed, row)
	}
	return update, q.writeHealth(ctx, tx, now, changed, healthy)
}

// lockHealth locks and returns the circuits of endpoints.
func (q Store) lockHealth(ctx context.Context, tx bun.Conn, endpoints []int64) (rows []healthRow, err error) {
	query, err := q.db.Prepare(ctx, tx, queries.Get("lock_circuits"), postgres.Args{
		"endpoints": postgres.Array(endpoints),
	})
	if err != nil {
		return nil, err
	}
	if err := tx.NewRaw(query).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading the health of endpoints: %w", err)
	}
	return rows, nil
}

// healthUpdate describes the circuits that results have changed.
type healthUpdate struct {
	probed         []int64
	opened, closed []healthRow
}

// insertHealth inserts a row for each endpoint that failed, unless it has one.
func (q Store) insertHealth(ctx context.Context, tx bun.Conn, endpoints []int64, of map[int64][]webhook.Result) error {
	if len(endpoints) == 0 {
		return nil
	}
	businesses := make([]int64, len(endpoints))
	for i, endpoint := range endpoints {
		businesses[i] = int64(of[endpoint][0].Delivery.Business)
	}
	now := q.db.Clock().Now()
	return postgres.Exec(ctx, tx, "recording failing endpoints",
		`INSERT INTO endpoint_circuits (business_id, endpoint, failures, since, at, status, error)
		SELECT business_id, endpoint, 0, ?0, ?0, 0, ''
		FROM unnest(?1::bigint[], ?2::bigint[]) AS r (business_id, endpoint) ON CONFLICT DO NOTHING`,
		now, pgdialect.Array(businesses), pgdialect.Array(endpoints))
}

func (q Store) writeHealth(ctx context.Context, tx bun.Conn, now time.Time, changed []healthRow,
	healthy []int64) error {
	if len(healthy) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM endpoint_circuits WHERE endpoint = ANY (?)`,
			pgdialect.Array(healthy)); err != nil {
			return fmt.Errorf("recording recovered endpoints: %w", err)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	n := len(changed)
	endpoints, failures, statuses, pauses := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	errs, since, probing, next := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	for i, row := range changed {
		endpoints[i], failures[i], statuses[i], pauses[i] = row.Endpoint, int64(row.Failures), int64(row.Status),
			row.PauseMS
		errs[i], since[i], probing[i], next[i] = row.Error, at(row.Since), at(row.ProbingSince.Time),
			at(row.NextProbe.Time)
	}
	_, err := tx.ExecContext(ctx, queries.With("update_circuits", postgres.Args{
		"now": now, "endpoints": pgdialect.Array(endpoints), "failures": pgdialect.Array(failures),
		"statuses": pgdialect.Array(statuses), "pauses": pgdialect.Array(pauses), "errors": pgdialect.Array(errs),
		"since": pgdialect.Array(since), "probing": pgdialect.Array(probing), "next": pgdialect.Array(next),
	}))
	if err != nil {
		return fmt.Errorf("recording failing endpoints: %w", err)
	}
	return nil
}

// logHealth logs circuits that opened or closed.
func (q Store) logHealth(update healthUpdate) {
	for _, row := range update.opened {
		q.db.Log().Warn("circuit opened: single attempts probe the endpoint, its other deliveries are held",
			"business", row.BusinessID, "endpoint", row.Endpoint)
	}
	for _, row := range update.closed {
		q.db.Log().Info("circuit closed: the endpoint has recovered, its deliveries resume",
			"business", row.BusinessID, "endpoint", row.Endpoint, "failed_since", row.Since, "probed_since",
			row.ProbingSince.Time)
	}
}

// probeNow makes the next probe of endpoints due now, because the last one was not sent.
func (q Store) probeNow(ctx context.Context, endpoints []int64) error {
	if len(endpoints) == 0 {
		return nil
	}
	_, err := q.db.Bun().ExecContext(ctx,
		`UPDATE endpoint_circuits SET next_probe = ? WHERE endpoint = ANY (?) AND probing_since IS NOT NULL`,
		q.db.Clock().Now(), pgdialect.Array(endpoints))
	if err != nil {
		return fmt.Errorf("releasing probes: %w", err)
	}
	return nil
}
