package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
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
		ProbingSince: r.ProbingSince.Time, NextProbe: r.NextProbe.Time, Pause: time.Duration(r.PauseMS) * time.Millisecond,
	}
}

var healthOf = planned{
	name: "health_of", types: "bigint[]",
	query: `SELECT business_id, endpoint, failures, since, status, error, probing_since, next_probe, pause_ms
		FROM unwell_endpoints WHERE endpoint = ANY ($1) ORDER BY endpoint FOR UPDATE`,
}

// judge brings the health of the results' endpoints up to date, and tells which
// of them are probed from now on and which are well again. An endpoint that was
// and stays well costs no more than a look.
func (q Deliveries) judge(ctx context.Context, tx bun.Conn, results []webhook.Result, rules webhook.Probing) (judgement, error) {
	byEndpoint := map[int64][]webhook.Result{}
	var all, unwell []int64
	for _, r := range results {
		endpoint := r.Delivery.Endpoint
		if byEndpoint[endpoint] == nil {
			all = append(all, endpoint)
		}
		byEndpoint[endpoint] = append(byEndpoint[endpoint], r)
		if r.Attempt.FoundUnwell() {
			unwell = append(unwell, endpoint)
		}
	}
	slices.Sort(unwell)
	unwell = slices.Compact(unwell)
	if err := q.startHealth(ctx, tx, unwell, byEndpoint); err != nil {
		return judgement{}, err
	}
	query, err := q.prepared.ready(ctx, tx, &healthOf, array(all))
	if err != nil {
		return judgement{}, err
	}
	var rows []healthRow
	if err := tx.NewRaw(query).Scan(ctx, &rows); err != nil {
		return judgement{}, fmt.Errorf("reading the health of endpoints: %w", err)
	}
	var j judgement
	var changed []healthRow
	var well []int64
	now := q.clock.Now()
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
			well = append(well, row.Endpoint)
			if before.Probed() {
				j.recovered = append(j.recovered, row)
			}
			continue
		case !before.Probed() && after.Probed():
			j.began = append(j.began, row)
		}
		if after.Probed() {
			j.probed = append(j.probed, row.Endpoint)
		}
		row.Failures, row.Since, row.Status, row.Error, row.PauseMS = after.Failures, after.Since, after.Status, after.Error, after.Pause.Milliseconds()
		row.ProbingSince, row.NextProbe = nullTime(after.ProbingSince), nullTime(after.NextProbe)
		changed = append(changed, row)
	}
	return j, q.writeHealth(ctx, tx, now, changed, well)
}

// judgement is what results said of their endpoints.
type judgement struct {
	probed           []int64
	began, recovered []healthRow
}

// nullTime is null for the zero time.
func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// startHealth makes sure that there is a row of each endpoint that was found unwell.
func (q Deliveries) startHealth(ctx context.Context, tx bun.Conn, endpoints []int64, of map[int64][]webhook.Result) error {
	if len(endpoints) == 0 {
		return nil
	}
	businesses := make([]int64, len(endpoints))
	for i, endpoint := range endpoints {
		businesses[i] = int64(of[endpoint][0].Delivery.Business)
	}
	now := q.clock.Now()
	if _, err := tx.ExecContext(ctx, `INSERT INTO unwell_endpoints (business_id, endpoint, failures, since, at, status, error)
		SELECT business_id, endpoint, 0, ?0, ?0, 0, '' FROM unnest(?1::bigint[], ?2::bigint[]) AS r (business_id, endpoint) ON CONFLICT DO NOTHING`,
		now, pgdialect.Array(businesses), pgdialect.Array(endpoints)); err != nil {
		return fmt.Errorf("recording unwell endpoints: %w", err)
	}
	return nil
}

func (q Deliveries) writeHealth(ctx context.Context, tx bun.Conn, now time.Time, changed []healthRow, well []int64) error {
	if len(well) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM unwell_endpoints WHERE endpoint = ANY (?)`, pgdialect.Array(well)); err != nil {
			return fmt.Errorf("recording that endpoints are well: %w", err)
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
		endpoints[i], failures[i], statuses[i], pauses[i] = row.Endpoint, int64(row.Failures), int64(row.Status), row.PauseMS
		errs[i], since[i], probing[i], next[i] = row.Error, at(row.Since), at(row.ProbingSince.Time), at(row.NextProbe.Time)
	}
	_, err := tx.ExecContext(ctx, `UPDATE unwell_endpoints h SET failures = r.failures, since = r.since::timestamptz, at = ?, status = r.status, error = r.error,
			probing_since = nullif(r.probing, '')::timestamptz, next_probe = nullif(r.next, '')::timestamptz, pause_ms = r.pause
		FROM unnest(?::bigint[], ?::integer[], ?::smallint[], ?::integer[], ?::text[], ?::text[], ?::text[], ?::text[])
			AS r (endpoint, failures, status, pause, error, since, probing, next) WHERE h.endpoint = r.endpoint`,
		now, pgdialect.Array(endpoints), pgdialect.Array(failures), pgdialect.Array(statuses), pgdialect.Array(pauses),
		pgdialect.Array(errs), pgdialect.Array(since), pgdialect.Array(probing), pgdialect.Array(next))
	if err != nil {
		return fmt.Errorf("recording unwell endpoints: %w", err)
	}
	return nil
}

// logHealth logs where endpoints began to fail and where they are well again.
func (q Deliveries) logHealth(j judgement) {
	for _, row := range j.began {
		q.log.Warn("an endpoint fails: single attempts probe it until it answers, its other deliveries wait",
			"business", row.BusinessID, "endpoint", row.Endpoint)
	}
	for _, row := range j.recovered {
		q.log.Info("an endpoint is well again: its deliveries go on",
			"business", row.BusinessID, "endpoint", row.Endpoint, "failed_since", row.Since, "probed_since", row.ProbingSince.Time)
	}
}

// probeAtOnce has endpoints probed again whose probe was not made.
func (q Deliveries) probeAtOnce(ctx context.Context, endpoints []int64) error {
	if len(endpoints) == 0 {
		return nil
	}
	_, err := q.bun.ExecContext(ctx, `UPDATE unwell_endpoints SET next_probe = ? WHERE endpoint = ANY (?) AND probing_since IS NOT NULL`,
		q.clock.Now(), pgdialect.Array(endpoints))
	if err != nil {
		return fmt.Errorf("giving back probes: %w", err)
	}
	return nil
}

// forgetHealth has an endpoint begin afresh: its subscription was changed.
func forgetHealth(ctx context.Context, tx bun.Conn, business core.BusinessID, endpoint int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM unwell_endpoints WHERE business_id = ? AND endpoint = ?`, business, endpoint)
	if err != nil {
		return fmt.Errorf("forgetting the health of webhook %d: %w", endpoint, err)
	}
	return nil
}
