// Package tasks stores which requests have a pending outcome, by the aggregator's ids of them.
package tasks

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/outcome"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// How long a report of an unknown task, and an ended task, are kept.
const (
	EarlyTime = 15 * time.Minute
	endedTime = 24 * time.Hour
)

// The states of an ended task, beside outcome.Done and outcome.Failed.
const (
	Expired    outcome.State = "expired"
	Superseded outcome.State = "superseded"
)

// Register stores a task in the transaction that stores the response. It returns the report that arrived before the
// response, or nil. A task with the reference of another pending request is not stored: that one keeps its outcome, and
// this one fails at its deadline.
func Register(ctx context.Context, db *postgres.DB, tx bun.IDB, t outcome.Task) (early *outcome.Report, err error) {
	var report string
	err = tx.QueryRowContext(ctx, queries.With("register", postgres.Args{
		"business": t.Business, "platform": t.Platform, "reference": postgres.CleanText(t.Reference), "kind": t.Kind,
		"store": t.StoreID, "call": t.CallID, "now": db.Clock().Now(), "deadline": t.Deadline,
	})).Scan(&report)
	if errors.Is(err, sql.ErrNoRows) {
		db.Log().Warn("another request is pending with the reference of an accepted one", "business", t.Business,
			"platform", t.Platform, "kind", t.Kind, "call", t.CallID, "reference", t.Reference)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("storing a pending outcome: %w", err)
	}
	if report == "" {
		return nil, nil
	}
	early = &outcome.Report{}
	if err := json.Unmarshal([]byte(report), early); err != nil {
		return nil, fmt.Errorf("reading an early outcome: %w", err)
	}
	return early, nil
}

// Find returns the task that a report names, with its state. ok is false if there is none.
func Find(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string,
	r outcome.Report) (t outcome.Task, state outcome.State, ok bool, err error) {
	t.Business, t.Platform = business, platform
	var call uuid.NullUUID
	err = tx.QueryRowContext(ctx, queries.With("find", postgres.Args{
		"business": business, "platform": platform, "reference": postgres.CleanText(r.Reference), "kind": r.Kind,
		"store": r.StoreRefID,
	})).Scan(&t.Reference, &t.Kind, &t.StoreID, &call, &state, &t.Deadline)
	if errors.Is(err, sql.ErrNoRows) {
		return t, "", false, nil
	}
	if err != nil {
		return t, "", false, fmt.Errorf("finding a pending outcome: %w", err)
	}
	t.CallID = call.UUID
	return t, state, true, nil
}

// Sending reports whether the hub sends a request that a report without a reference may belong to.
func Sending(ctx context.Context, db *postgres.DB, business core.BusinessID, platform string,
	r outcome.Report) (sending bool, err error) {
	if err := db.Bun().QueryRowContext(ctx, queries.With("is_sending", postgres.Args{
		"business": business, "platform": platform, "kind": r.Kind, "store": r.StoreRefID,
	})).Scan(&sending); err != nil {
		return false, fmt.Errorf("finding a request that is sent: %w", err)
	}
	return sending, nil
}

// KeepEarly stores the report of an unknown task until its request is stored. It returns false if that has happened
// meanwhile.
func KeepEarly(ctx context.Context, db *postgres.DB, business core.BusinessID, platform string,
	r outcome.Report) (bool, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	now := db.Clock().Now()
	var kept bool
	err = db.Bun().QueryRowContext(ctx, queries.With("keep_early", postgres.Args{
		"business": business, "platform": platform, "reference": postgres.CleanText(r.Reference),
		"report": postgres.CleanText(string(text)), "now": now, "until": now.Add(EarlyTime),
	})).Scan(&kept)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("storing an early outcome: %w", err)
	}
	return true, nil
}

// Ended is a request whose outcome is no longer pending.
type Ended struct {
	Business core.BusinessID
	CallID   core.ID
	State    outcome.State
}

// End ends the tasks of requests.
func End(ctx context.Context, db *postgres.DB, tx bun.IDB, list ...Ended) error {
	if len(list) == 0 {
		return nil
	}
	businesses, calls, states := make([]int64, len(list)), make([]string, len(list)), make([]string, len(list))
	for i, e := range list {
		businesses[i], calls[i], states[i] = int64(e.Business), e.CallID.String(), string(e.State)
	}
	now := db.Clock().Now()
	return postgres.Exec(ctx, tx, "ending pending outcomes", queries.With("end", postgres.Args{
		"businesses": postgres.Array(businesses), "calls": postgres.Array(calls), "states": postgres.Array(states),
		"now": now, "until": now.Add(endedTime),
	}))
}

// deleteBatch is the number of tasks that one statement deletes.
const deleteBatch = 1000

// DeleteExpired deletes early reports that no request followed, and tasks that ended long ago.
func DeleteExpired(ctx context.Context, db *postgres.DB) error {
	for {
		result, err := db.Bun().ExecContext(ctx, queries.With("delete_expired", postgres.Args{
			"now": db.Clock().Now(), "limit": deleteBatch,
		}))
		if err != nil {
			return fmt.Errorf("deleting expired outcomes: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n < deleteBatch {
			return err
		}
	}
}
