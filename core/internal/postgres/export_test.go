package postgres

import (
	"context"
	"fmt"
	"github.com/uptrace/bun"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

// AttemptRecord is, for tests, one recorded attempt at one of an event's deliveries.
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

// Attempts reads every recorded attempt to tell an event, in order.
func (db *DB) Attempts(ctx context.Context, event core.ID) ([]AttemptRecord, error) {
	var list []AttemptRecord
	err := db.bun.NewRaw(`SELECT d.id AS delivery_id, d.webhook_id, d.state, a.n, a.started_at, a.url, a.status, a.error_class, a.error
		FROM (SELECT business_id, id, coalesce(webhook_id, 0) AS webhook_id, state FROM deliveries WHERE event_id = ?0
			UNION ALL SELECT business_id, id, coalesce(webhook_id, 0), 'pending' FROM delivery_queue WHERE event_id = ?0) d
		JOIN attempts a ON a.business_id = d.business_id AND a.delivery_id = d.id
		ORDER BY d.id, a.n, a.started_at`, event).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	return list, nil
}

// JobState reads, for tests, where a job stands.
func (db *DB) JobState(ctx context.Context, id core.ID) (state, message string, err error) {
	err = db.bun.QueryRowContext(ctx, `SELECT state, error FROM jobs WHERE id = ?`, id).Scan(&state, &message)
	return state, message, err
}

// EventBody reads, for tests, the body of the event with a reference, and holds
// it against the schema of its event type.
func (db *DB) EventBody(t testing.TB, reference core.ID) []byte {
	t.Helper()
	var event core.EventType
	var stored []byte
	if err := db.bun.QueryRowContext(context.Background(), `SELECT event_type, body FROM events WHERE reference = ?`, reference.String()).Scan(&event, &stored); err != nil {
		t.Fatal(err)
	}
	body, err := db.packer.unpack(stored)
	if err != nil {
		t.Fatal(err)
	}
	eventtest.Check(t, event, body)
	return body
}

// EventBodyByID reads, for tests, the stored body of an event, nil when it is gone.
func (db *DB) EventBodyByID(t testing.TB, id core.ID) []byte {
	t.Helper()
	var bodies [][]byte
	if err := db.bun.NewRaw(`SELECT body FROM events WHERE id = ?`, id).Scan(context.Background(), &bodies); err != nil {
		t.Fatal(err)
	}
	if len(bodies) == 0 {
		return nil
	}
	return bodies[0]
}

// Outside counts, for tests, the rows for whose day there was no partition.
func (db *DB) Outside(t testing.TB) (n int) {
	t.Helper()
	err := db.bun.QueryRowContext(context.Background(),
		`SELECT (SELECT count(*) FROM events_other) + (SELECT count(*) FROM deliveries_other) + (SELECT count(*) FROM attempts_other)`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// MenuVersions reads, for tests, every version that is counted, by store.
func (db *DB) MenuVersions(t testing.TB) map[int64]int64 {
	t.Helper()
	rows, err := db.bun.QueryContext(context.Background(), `SELECT store_id, version FROM menu_versions`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	versions := map[int64]int64{}
	for rows.Next() {
		var store, version int64
		if err := rows.Scan(&store, &version); err != nil {
			t.Fatal(err)
		}
		versions[store] = version
	}
	return versions
}

// breaker ends the database session of the n-th statement.
type breaker struct {
	n      int
	broken bool
}

func (b *breaker) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if b.n--; b.n == 0 {
		b.broken = true
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	return ctx
}

func (b *breaker) AfterQuery(context.Context, *bun.QueryEvent) {}

// BreakAt makes, for tests, the n-th statement from now fail with its
// connection; the function that it returns tells whether there was one.
func (db *DB) BreakAt(n int) func() bool {
	b := &breaker{n: n}
	db.bun.AddQueryHook(b)
	return func() bool { return b.broken }
}

// LeapClock makes, for tests, the database's clock look set by so much.
func (db *DB) LeapClock(by time.Duration) {
	db.time.read = func(ctx context.Context) (there time.Time, err error) {
		err = db.bun.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there)
		return there.Add(by), err
	}
}

// PutOff has deliveries and jobs wait until a time, for tests.
func (db *DB) PutOff(t testing.TB, until time.Time) {
	t.Helper()
	for _, statement := range []string{`UPDATE delivery_queue SET available_at = ?0, due_at = ?0`, `UPDATE job_queue SET available_at = ?0`} {
		if _, err := db.bun.ExecContext(context.Background(), statement, until); err != nil {
			t.Fatal(err)
		}
	}
}

// ForgetClock makes the clock, for tests, that of a replica that has looked at
// the database's before it was set.
func (db *DB) ForgetClock() {
	db.time.offset.Store(0)
	db.time.epoch.Store(1)
}

type counter struct{ n atomic.Int64 }

func (c *counter) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if !strings.HasPrefix(event.Query, "PREPARE ") {
		c.n.Add(1)
	}
	return ctx
}

func (c *counter) AfterQuery(context.Context, *bun.QueryEvent) {}

// Statements counts, for tests, the statements from now on, neither COPY nor
// what a connection prepares among them.
func (db *DB) Statements() func() int {
	c := &counter{}
	db.bun.AddQueryHook(c)
	return func() int { return int(c.n.Load()) }
}

// Exec changes, for tests, what no code of the hub would.
func (db *DB) Exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := db.bun.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Row reads, for tests, one value.
func (db *DB) Row(t testing.TB, into any, query string, args ...any) {
	t.Helper()
	if err := db.bun.QueryRowContext(context.Background(), query, args...).Scan(into); err != nil {
		t.Fatal(err)
	}
}

// Other begins, for tests, a transaction of somebody else.
func (db *DB) Other(t testing.TB) (exec func(query string, args ...any), commit func()) {
	t.Helper()
	tx, err := db.bun.Begin()
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

// SomebodyWaits tells, for tests, whether a statement waits for a lock.
func (db *DB) SomebodyWaits(t testing.TB) bool {
	t.Helper()
	return db.Waiters(t) > 0
}

// Waiters counts, for tests, the statements that wait for a lock.
func (db *DB) Waiters(t testing.TB) (n int) {
	t.Helper()
	db.Row(t, &n, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	return n
}

// reader keeps the statements that hold a text.
type reader struct {
	text string
	read []string
}

func (r *reader) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, r.text) {
		r.read = append(r.read, event.Query)
	}
	return ctx
}

func (r *reader) AfterQuery(context.Context, *bun.QueryEvent) {}

// Plan reads, for tests, how the database would carry out the first statement with a
// text in it of those that do makes.
func (db *DB) Plan(t testing.TB, text string, do func()) string {
	t.Helper()
	r := &reader{text: text}
	db.bun.AddQueryHook(r)
	do()
	if len(r.read) == 0 {
		t.Fatalf("no statement holds %q", text)
	}
	var lines []string
	if err := db.bun.NewRaw("EXPLAIN "+strings.ReplaceAll(r.read[0], "?", `\?`)).Scan(context.Background(), &lines); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// HoldMigrations takes, for tests, the lock of migrations, as another replica does.
func (db *DB) HoldMigrations(t testing.TB) (release func()) {
	t.Helper()
	conn, err := db.bun.Conn(context.Background())
	if err == nil {
		err = db.awaitMigrations(context.Background(), conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		discard(conn)
		_ = conn.Close()
	}
}

// MigrationSetting is, for tests, a setting of the connections that migrate.
func (db *DB) MigrationSetting(t testing.TB, name string) (value string) {
	t.Helper()
	own, err := db.forMigrations()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := own.QueryRowContext(context.Background(), `SELECT current_setting(?)`, name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TurnsWaiting is, for tests, how many change the menu of a business or wait for that.
func (db *DB) TurnsWaiting(business core.BusinessID) int {
	db.menuTurns.mu.Lock()
	defer db.menuTurns.mu.Unlock()
	if mine := db.menuTurns.of[business]; mine != nil {
		return mine.users
	}
	return 0
}
