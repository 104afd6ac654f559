// Package replicas lets replicas notice that another one has died. Each holds an advisory lock in a separate session.
// When the lock of another has been free for a second, a replica ends the leases of that owner in all queues.
package replicas

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Channel notifies replicas of another one.
const Channel = "servery_replicas"

// Queue is a table with leases.
type Queue string

// The queues.
const (
	Deliveries   Queue = "deliveries"
	Calls        Queue = "calls"
	Jobs         Queue = "jobs"
	Publications Queue = "publications"
)

// queues are all queues, in the order in which their rows are locked.
var queues = []Queue{Jobs, Calls, Publications, Deliveries}

// Store stores which replicas there are.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// Replica is a replica as the others see it.
type Replica struct {
	Owner  core.ID `bun:"owner,type:uuid"`
	Key    int64   `bun:"session_key"` // of the lock of its session
	Ended  bool    `bun:"ended"`       // its leases were ended
	Locked bool    `bun:"locked"`      // its session holds the lock

	// Whether the queues have rows that are due or will be. They are of the database, the same for each replica.
	Jobs         bool `bun:"jobs"`
	Calls        bool `bun:"calls"`
	Publications bool `bun:"publications"`
	Deliveries   bool `bun:"deliveries"`
}

// List returns the replicas. With queues set, it also looks at the queues.
func (s Store) List(ctx context.Context, queues bool) (list []Replica, err error) {
	if err := s.db.Bun().NewRaw(queries.With("list", postgres.Args{"queues": queues})).Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading the replicas: %w", err)
	}
	return list, nil
}

// TakeOver ends the leases of a replica whose session has ended, and returns how many. It does nothing while another
// replica does so, or if the replica has another session. When nothing is left to end, it forgets the replica.
func (s Store) TakeOver(ctx context.Context, gone Replica) (ended int, err error) {
	err = s.db.InTx(ctx, func(tx bun.Conn) error {
		var one int
		err := tx.QueryRowContext(ctx,
			`SELECT 1 FROM replicas WHERE owner = ? AND session_key = ? FOR UPDATE SKIP LOCKED`, gone.Owner, gone.Key).
			Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		left := false
		if ended, left, err = s.endAll(ctx, tx, gone.Owner); err != nil {
			return err
		}
		// A statement that the server still runs for the owner may store another lease. So the next call looks again.
		if ended > 0 || left || !gone.Ended {
			_, err = tx.ExecContext(ctx, `UPDATE replicas SET ended_at = ? WHERE owner = ?`, s.db.Clock().Now(),
				gone.Owner)
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM replicas WHERE owner = ?`, gone.Owner)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("taking over from replica %s: %w", gone.Owner, err)
	}
	return ended, nil
}

// Leave ends the leases of a replica that stops, and forgets it.
func (s Store) Leave(ctx context.Context, owner core.ID) error {
	err := s.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM replicas WHERE owner = ?`, owner); err != nil {
			return err
		}
		_, _, err := s.endAll(ctx, tx, owner)
		return err
	})
	if err != nil {
		return fmt.Errorf("ending the leases of this replica: %w", err)
	}
	return nil
}

// endAll ends the leases of an owner in all queues and wakes all replicas. The replicas did not know of retries that
// the owner had scheduled. It reports whether leases are left, because other transactions have locked their rows.
func (s Store) endAll(ctx context.Context, tx bun.Conn, owner core.ID) (ended int, left bool, err error) {
	for _, queue := range queues {
		n, err := s.end(ctx, tx, queue, owner, nil)
		if err != nil {
			return ended, false, err
		}
		ended += n
	}
	if err := tx.QueryRowContext(ctx, queries.With("has_leases", s.leasesOf(owner))).Scan(&left); err != nil {
		return ended, false, err
	}
	_, err = tx.ExecContext(ctx, `SELECT pg_notify(channel, '') FROM unnest(?::text[]) AS channel`,
		postgres.Array([]string{jobs.Channel, outbox.CallsChannel, publications.Channel, outbox.DeliveriesChannel}))
	return ended, left, err
}

// EndLeases ends the leases of this replica in a queue, except those of the items that its engine holds. A lease has no
// item in memory if the response to its transaction was lost.
func (s Store) EndLeases(ctx context.Context, queue Queue, owner core.ID, held []string) error {
	_, err := s.end(ctx, s.db.Bun(), queue, owner, held)
	return err
}

// longestLease is longer than any lease (hub.Config). Leases that expired that long ago need no end.
const longestLease = 15 * time.Minute

// leasesOf returns the arguments of a search for leases.
func (s Store) leasesOf(owner core.ID) postgres.Args {
	now := s.db.Clock().Now()
	return postgres.Args{"owner": owner, "earliest": now.Add(-longestLease), "latest": now.Add(longestLease)}
}

// end ends the leases of an owner in a queue, except those of held items (queue.Lease.ID).
func (s Store) end(ctx context.Context, in bun.IDB, queue Queue, owner core.ID, held []string) (ended int, err error) {
	owned := postgres.Args{"owner": owner, "held": postgres.Array(held)}
	leased := s.leasesOf(owner)
	leased["held"], leased["now"] = postgres.Array(held), s.db.Clock().Now()
	statement := map[Queue]func() string{
		Deliveries: func() string { return queries.With("end_deliveries", leased) },
		Calls:      func() string { return queries.With("end_calls", owned) },
		Jobs: func() string {
			return queries.With("end_jobs", postgres.Args{"owner": owner, "held": postgres.Array(held),
				"now": s.db.Clock().Now()})
		},
		Publications: func() string { return queries.With("end_publications", owned) },
	}[queue]
	if err := in.QueryRowContext(ctx, statement()).Scan(&ended); err != nil {
		return 0, fmt.Errorf("ending leases of %s: %w", queue, err)
	}
	return ended, nil
}
