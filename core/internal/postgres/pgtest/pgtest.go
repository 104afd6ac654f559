// Package pgtest reads and changes the database for tests.
package pgtest

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// AttemptRecord is a recorded attempt at a delivery of an event.
type AttemptRecord struct {
	DeliveryID core.ID   `bun:"delivery_id,type:uuid"`
	WebhookID  int64     `bun:"webhook_id"`
	State      string    `bun:"state"` // of the delivery: pending, delivered, failed
	N          int       `bun:"n"`
	StartedAt  time.Time `bun:"started_at"`
	URL        string    `bun:"url"`
	Status     int       `bun:"status"`
	ErrorClass string    `bun:"error_class"`
	Error      string    `bun:"error"`
}

// Attempts returns every recorded attempt at the deliveries of an event, in order.
func Attempts(ctx context.Context, db *postgres.DB, event core.ID) ([]AttemptRecord, error) {
	var list []AttemptRecord
	err := db.Bun().NewRaw(queries.With("attempts", postgres.Args{"event": event})).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	return list, nil
}

// JobState returns the state of a job.
func JobState(ctx context.Context, db *postgres.DB, id core.ID) (state, message string, err error) {
	err = db.Bun().QueryRowContext(ctx, `SELECT state, error FROM jobs WHERE id = ?`, id).Scan(&state, &message)
	return state, message, err
}

// EventBody returns the body of the event with a reference, and checks it against the schema
// of its type.
func EventBody(t testing.TB, db *postgres.DB, reference core.ID) []byte {
	t.Helper()
	var event core.EventType
	var stored []byte
	if err := db.Bun().QueryRowContext(context.Background(), `SELECT event_type, body FROM events WHERE reference = ?`,
		reference.String()).Scan(&event, &stored); err != nil {
		t.Fatal(err)
	}
	body, err := db.Decompress(stored)
	if err != nil {
		t.Fatal(err)
	}
	eventtest.Check(t, event, body)
	return body
}

// EventBodyByID returns the stored body of an event, nil if it is gone.
func EventBodyByID(t testing.TB, db *postgres.DB, id core.ID) []byte {
	t.Helper()
	var bodies [][]byte
	if err := db.Bun().NewRaw(`SELECT body FROM events WHERE id = ?`, id).Scan(context.Background(),
		&bodies); err != nil {
		t.Fatal(err)
	}
	if len(bodies) == 0 {
		return nil
	}
	return bodies[0]
}

// DefaultPartitionRows counts the rows in default partitions.
func DefaultPartitionRows(t testing.TB, db *postgres.DB) (n int) {
	t.Helper()
	err := db.Bun().QueryRowContext(context.Background(),
		`SELECT (SELECT count(*) FROM events_other) + (SELECT count(*) FROM deliveries_other) + (SELECT count(*)
			FROM attempts_other)`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// MenuVersions returns every menu version, by store.
func MenuVersions(t testing.TB, db *postgres.DB) map[int64]int64 {
	t.Helper()
	versions, err := postgres.CollectMap(context.Background(), db.Bun(), "reading menu versions",
		func(store, version *int64) []any { return []any{store, version} },
		bun.SafeQuery(`SELECT store_id, version FROM menu_versions`))
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// statementBreaker cancels the n-th statement, which ends its connection.
type statementBreaker struct {
	n      int
	broken bool
}

func (b *statementBreaker) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if b.n--; b.n == 0 {
		b.broken = true
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	return ctx
}

func (b *statementBreaker) AfterQuery(context.Context, *bun.QueryEvent) {}

// addHook adds a hook to both pools of connections.
func addHook(db *postgres.DB, hook bun.QueryHook) {
	db.Bun().AddQueryHook(hook)
	db.Keyed().AddQueryHook(hook)
}

// BreakAt makes the n-th statement from now fail with its connection. The returned function
// reports whether that has happened.
func BreakAt(db *postgres.DB, n int) func() bool {
	b := &statementBreaker{n: n}
	addHook(db, b)
	return func() bool { return b.broken }
}

// Postpone postpones deliveries and jobs until a time.
func Postpone(t testing.TB, db *postgres.DB, until time.Time) {
	t.Helper()
	for _, statement := range []string{`UPDATE delivery_queue SET available_at = ?0, due_at = ?0`,
		`UPDATE job_queue SET available_at = ?0`} {
		if _, err := db.Bun().ExecContext(context.Background(), statement, until); err != nil {
			t.Fatal(err)
		}
	}
}

type statementCounter struct{ n atomic.Int64 }

func (c *statementCounter) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if !strings.HasPrefix(event.Query, "PREPARE ") {
		c.n.Add(1)
	}
	return ctx
}

func (c *statementCounter) AfterQuery(context.Context, *bun.QueryEvent) {}

// Statements counts the statements from now on, without COPY and PREPARE.
func Statements(db *postgres.DB) func() int {
	c := &statementCounter{}
	addHook(db, c)
	return func() int { return int(c.n.Load()) }
}

// Exec runs a change that no code of the hub makes.
func Exec(t testing.TB, db *postgres.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Bun().ExecContext(context.Background(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Row scans the single value of a query.
func Row(t testing.TB, db *postgres.DB, into any, query string, args ...any) {
	t.Helper()
	if err := db.Bun().QueryRowContext(context.Background(), query, args...).Scan(into); err != nil {
		t.Fatal(err)
	}
}

// BeginOther begins a separate transaction.
func BeginOther(t testing.TB, db *postgres.DB) (exec func(query string, args ...any), commit func()) {
	t.Helper()
	tx, err := db.Bun().Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	exec = func(query string, args ...any) {
		if _, err := tx.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	return exec, func() {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// HasWaiters reports whether a statement waits for a lock.
func HasWaiters(t testing.TB, db *postgres.DB) bool {
	t.Helper()
	return Waiters(t, db) > 0
}

// Waiters returns the number of statements that wait for a lock.
func Waiters(t testing.TB, db *postgres.DB) (n int) {
	t.Helper()
	Row(t, db, &n,
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	return n
}

// statementRecorder records the statements that contain a text.
type statementRecorder struct {
	text string
	read []string
}

func (r *statementRecorder) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, r.text) {
		r.read = append(r.read, event.Query)
	}
	return ctx
}

func (r *statementRecorder) AfterQuery(context.Context, *bun.QueryEvent) {}

// Plan returns the plan of the first statement of do that contains a text.
func Plan(t testing.TB, db *postgres.DB, text string, do func()) string {
	t.Helper()
	r := &statementRecorder{text: text}
	addHook(db, r)
	do()
	if len(r.read) == 0 {
		t.Fatalf("no statement holds %q", text)
	}
	var lines []string
	if err := db.Bun().NewRaw("EXPLAIN "+strings.ReplaceAll(r.read[0], "?", `\?`)).Scan(context.Background(),
		&lines); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// HoldMigrations takes the migration lock, as another replica would.
func HoldMigrations(t testing.TB, db *postgres.DB) (release func()) {
	t.Helper()
	conn, err := db.Bun().Conn(context.Background())
	if err == nil {
		err = schema.LockMigrations(context.Background(), db, conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		postgres.Discard(conn)
		_ = conn.Close()
	}
}

// MigrationSetting returns a setting of the connections that migrate.
func MigrationSetting(t testing.TB, db *postgres.DB, name string) (value string) {
	t.Helper()
	own, err := db.OpenForMigrations()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := own.QueryRowContext(context.Background(), `SELECT current_setting(?)`, name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// MenuMutexWaiting returns how many callers hold or wait for the menu mutex of a business.
func MenuMutexWaiting(db *postgres.DB, business core.BusinessID) int {
	menu := menus.MenuMutex(db)
	menu.Mu.Lock()
	defer menu.Mu.Unlock()
	if entry := menu.Entries[business]; entry != nil {
		return entry.Users
	}
	return 0
}
