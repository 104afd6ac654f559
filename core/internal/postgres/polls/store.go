// Package polls stores the polls of platforms: when each is due, its cursor, and how its last run ended.
package polls

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores polls (poll.Runs).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// maxPending bounds the pending requests of a run.
const maxPending = 100

// Read returns the run of a leased call. It returns NotFound if the platform does not list its store any more.
func (s Store) Read(ctx context.Context, call relay.Call) (run poll.Run, err error) {
	p, err := payloadOf(call)
	if err != nil {
		return run, err
	}
	var listed bool
	err = s.db.Keyed().QueryRowContext(ctx, queries.With("run", postgres.Args{"business": call.Business,
		"platform": call.Platform, "plugin": call.Plugin, "poll": p.Poll, "store": p.StoreID,
		"listed_on": bun.Safe(publications.ListedOn),
		"given_id":  bun.Safe(platforms.PlatformStoreID)})).Scan(&run.Cursor, &run.StoreRefID, &run.PlatformStoreID,
		&listed)
	if err != nil {
		return run, postgres.NotFound(err, "platform %s has no poll %q", call.Platform, p.Poll)
	}
	if !listed {
		return run, core.Errorf(core.NotFound, "platform %s does not list the store", call.Platform)
	}
	run.Pending, err = postgres.Collect(ctx, s.db.Keyed(), "reading pending outcomes", func(t *poll.Task) []any {
		return []any{&t.Reference, &t.Kind, &t.StoreRefID, &t.Deadline}
	}, bun.SafeQuery(queries.With("pending", postgres.Args{"business": call.Business, "platform": call.Platform,
		"store": p.StoreID, "now": s.db.Clock().Now(), "limit": maxPending})))
	return run, err
}

func payloadOf(call relay.Call) (p relay.PollPayload, err error) {
	if err := json.Unmarshal(call.Payload, &p); err != nil {
		return p, &core.Error{Code: core.Invalid, Message: "the stored poll cannot be read", Cause: err}
	}
	return p, nil
}

// errLeaseLost means that the poll runs again, in this replica or in another.
var errLeaseLost = errors.New("the lease of the poll has ended")

// Finish stores how a run ended (poll.Runs). The transaction locks the messages before the poll, by ordering key.
func (s Store) Finish(ctx context.Context, owner core.ID, end poll.End, next func(failures int) time.Time) error {
	p, err := payloadOf(end.Call)
	if err != nil {
		return err
	}
	err = outbox.Run(ctx, s.db, func(tx bun.Conn, box *outbox.Outbox) error {
		var failures int
		var seen []byte
		err := tx.QueryRowContext(ctx, `SELECT failures, seen FROM polls
			WHERE business_id = ? AND platform = ? AND poll = ? AND store_id = ?`, end.Call.Business,
			end.Call.Platform, p.Poll, p.StoreID).Scan(&failures, &seen)
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // the platform was removed
			return err
		}
		found, digests, err := s.newMessages(end, p, seen)
		if err != nil {
			return err
		}
		if err := box.QueueCalls(ctx, tx, found); err != nil {
			return err
		}
		if err := s.requeue(ctx, tx, owner, end, next(failures)); err != nil {
			return err
		}
		return s.record(ctx, tx, end, p, progress{failures, digests})
	})
	if errors.Is(err, errLeaseLost) {
		s.db.Log().Info("the lease of a poll ended before its result was stored", "call", end.Call.ID, "poll", p.Poll)
		return nil
	}
	if err != nil {
		return fmt.Errorf("storing the result of a poll: %w", err)
	}
	return nil
}

// requeue sets when a poll is due next, or removes it from the queue.
func (s Store) requeue(ctx context.Context, tx bun.Conn, owner core.ID, end poll.End, due time.Time) error {
	run, attempts, note := end.Call.ID, end.Call.Attempts, postgres.CleanText(end.Message)
	if !end.Uncounted {
		attempts++
	}
	if end.Over {
		run, attempts, note = core.NewID(end.FinishedAt), 0, ""
	}
	var held int
	err := tx.QueryRowContext(ctx, queries.With("requeue", postgres.Args{"business": end.Call.Business,
		"ordering_key": end.Call.OrderingKey, "owner": owner, "lease": end.Call.Lease, "run": end.Call.ID,
		"next_run": run, "over": end.Over, "leaves": end.Leaves, "attempts": attempts, "due": due,
		"note": note})).Scan(&held)
	if err == nil && held == 0 {
		return errLeaseLost
	}
	return err
}

// progress is what a run changes.
type progress struct {
	failures int    // failed runs before
	seen     []byte // digests of all messages
}

func (s Store) record(ctx context.Context, tx bun.Conn, end poll.End, p relay.PollPayload, run progress) error {
	succeeded := end.State == relay.Done
	failed := end.State == relay.Failed || end.State == relay.Waiting && !end.Uncounted
	cursor := ""
	if end.Outcome.Polled != nil {
		cursor = end.Outcome.Polled.Cursor
	}
	switch {
	case succeeded:
		run.failures = 0
	case end.State == relay.Failed:
		run.failures++
	}
	_, err := tx.ExecContext(ctx, queries.With("record", postgres.Args{"business": end.Call.Business,
		"platform": end.Call.Platform, "poll": p.Poll, "store": p.StoreID, "now": end.FinishedAt,
		"attempted": end.Attempt != nil || succeeded, "message": postgres.CleanText(end.Message),
		"failed": failed, "failures": run.failures, "plugin": end.Call.Plugin,
		"read": succeeded && end.Outcome.Polled != nil, "cursor": postgres.CleanText(cursor), "seen": run.seen}))
	return err
}
