package storetest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/replicas"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/order"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// planTables are the growing tables of the queues and of the order intake, with a statement that inserts the
// rows ?0 to ?1. They belong to a hundred businesses and a thousand endpoints. Calls and items are a tenth.
var planTables = map[string]string{
	"delivery_queue": `INSERT INTO delivery_queue (business_id, id, event_id, event_type, webhook_id, endpoint, size,
			due_at, available_at, ordering_key, sequence)
		SELECT 1000 + n / 10000, lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'order_placed',
			1000 + n / 1000, 1000 + n / 1000, 100, now(), now(), n / 3, n % 3 + 1 FROM generate_series(?0, ?1) n`,
	"job_queue": `INSERT INTO job_queue (business_id, ordering_key, job_id, available_at)
		SELECT 1000 + n / 10000, 'stores', lpad(to_hex(n), 32, '0')::uuid, now() FROM generate_series(?0, ?1) n`,
	"call_queue": `INSERT INTO call_queue (business_id, ordering_key, kind, platform, order_id, endpoint, call_id,
		received_at,
			due_at, available_at)
		SELECT 1000 + n / 10000, 'order:' || n, 'order_status', 'a', n, 1000 + n / 1000, lpad(to_hex(n), 32, '0')::uuid,
			now(), now(), now() FROM generate_series(?0, ?1) n`,
	"calls": `INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor, state,
		created_at)
		SELECT 1000 + n / 10000, lpad(to_hex(n), 32, '0')::uuid, 'order:' || n, 'order_status', 'a', n, '{}', 'hub',
			'waiting', now() FROM generate_series(?0, ?1, 10) n`,
	"publications": `INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests,
		due_at,
			available_at)
		SELECT 1000 + n / 10000, n, 'a', 1000 + n / 1000, lpad(to_hex(n), 32, '0')::uuid, '{}', now(), now()
		FROM generate_series(?0, ?1) n`,
	"orders": `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order,
			delivery_type, flags, events, placed_event, placed_by, created_at, updated_at)
		SELECT 1000 + n / 10000, n, 'a', 'A-' || n, 1, 'Placed', false, 'self', 0, 1,
			lpad(to_hex(n), 32, '0')::uuid, 'pos', now(), now() FROM generate_series(?0, ?1) n`,
	"store_overrides": `INSERT INTO store_overrides (business_id, store_id, kind, id, content)
		SELECT 1000 + n / 10000, n / 1000, 1, n, '{}' FROM generate_series(?0, ?1) n`,
	"catalogue_entities": `INSERT INTO catalogue_entities (business_id, kind, id, name, active, parent_id, all_items,
		record,
			updated_at)
		SELECT 1000 + n / 10000, 1, n, 'item-' || n, true, 0, false, '{}', now() FROM generate_series(?0, ?1, 10) n`,
}

// unchecked drops the foreign keys and disables the triggers, because checks of each row would be
// slow.
const unchecked = `DO $$ DECLARE this record; BEGIN
	FOR this IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint
			WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0 LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', this.owner, this.conname);
	END LOOP;
	FOR this IN SELECT DISTINCT tgrelid::regclass AS owner FROM pg_trigger
			WHERE NOT tgisinternal AND tgparentid = 0 LOOP
		EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', this.owner);
	END LOOP;
END $$`

// planIndexes are indexes that statements use once there are many rows, by a text of the statement.
var planIndexes = map[string][]string{
	// Deliveries: claim, next due time, end, retry, ordering.
	"EXECUTE claim_deliveries": {
		"delivery_queue_due", "delivery_queue_available", "delivery_queue_manual", "delivery_queue_pkey",
	},
	"EXECUTE next_delivery": {
		"delivery_queue_due", "delivery_queue_available", "delivery_queue_manual",
	},
	"EXECUTE move_to_history":                   {"delivery_queue_pkey"},
	"AS retry (business_id, id, due_at, lease)": {"delivery_queue_pkey"},
	"JOIN delivery_queue earlier\n":             {"delivery_queue_ordering_key"},
	"EXECUTE blocked (":                         {"delivery_queue_ordering_key"},
	"EXECUTE blocked_of_ordering_keys":          {"delivery_queue_ordering_key"},
	// Calls: claim, load, end, next call.
	"EXECUTE claim_calls":                          {"call_queue_available", "call_queue_pkey"},
	"EXECUTE load_calls":                           {"orders_pkey", "calls_waiting"},
	"attempts = result.attempts,\n    finished_at": {"calls_pkey|calls_waiting"},
	"queue.version = result.version":               {"call_queue_pkey", "calls_waiting"},
	// Publications: claim, mark.
	"EXECUTE claim_publications":         {"publications_available", "publications_pkey"},
	"INSERT INTO publications AS marked": {"publications_pkey"},
	// Jobs: claim, next due time.
	"EXECUTE claim_jobs": {"job_queue_pkey"},
	"EXECUTE next_job":   {"job_queue_pkey"},
	// The end of the leases of a replica.
	"UPDATE delivery_queue queue\n    SET owner = NULL": {"delivery_queue_due", "delivery_queue_pkey"},
	// The intake of orders.
	"sent.business_id = platform.business_id": {"stores_business_id_ref_id_key"},
	"option_group.record":                     {"catalogue_entities_business_id_kind_name_key", "store_overrides_pkey"},
	"EXECUTE place":                           {"business_changes_pkey"},
	"EXECUTE publish":                         {"business_changes_pkey"},
	"EXECUTE located_orders":                  {"orders_pkey"},
	// Changes of orders.
	"EXECUTE lock_orders":           {"orders_pkey"},
	"EXECUTE read_acknowledgements": {"order_states_pkey", "calls_by_order"},
	"EXECUTE change_orders":         {"orders_pkey", "order_states_pkey"},
}

// poolStatement is a statement of one of the two pools.
type poolStatement struct {
	pool *bun.DB
	text string
}

// statementLog records the statements of both pools.
type statementLog struct{ statements []poolStatement }

func (l *statementLog) listen(db *postgres.DB) {
	for _, pool := range []*bun.DB{db.Bun(), db.Keyed()} {
		pool.AddQueryHook(poolLog{l, pool})
	}
}

type poolLog struct {
	log  *statementLog
	pool *bun.DB
}

func (l poolLog) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	text := notified.ReplaceAllString(event.Query, "") // which statement carries it depends on the time
	l.log.statements = append(l.log.statements, poolStatement{l.pool, text})
	return ctx
}

func (poolLog) AfterQuery(context.Context, *bun.QueryEvent) {}

// plans are the distinct statements of a log, on connections that have prepared the prepared ones.
type plans struct {
	t          *testing.T
	conns      map[*bun.DB]bun.Conn // one of each pool
	main       bun.Conn
	statements []poolStatement
}

var (
	literal  = regexp.MustCompile(`'(?:[^']|\'\')*'|\b\d+\b`)
	notified = regexp.MustCompile(`^NOTIFY \w+; `)
	planned  = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|EXECUTE|WITH)\b`)
	seqScans = regexp.MustCompile(`Seq Scan on (delivery_queue|deliveries|attempts|events|job_queue|jobs|call|` +
		`publications|orders|order_states|catalogue_entities|menu_links|store_overrides|business_changes)\w*`)
	// eachWithEach is a nested loop over all pairs of two lists of endpoints.
	eachWithEach = regexp.MustCompile(`Join Filter: .*endpoint`)
)

func newPlans(t *testing.T, db *postgres.DB, log []poolStatement) *plans {
	p := &plans{t: t, conns: map[*bun.DB]bun.Conn{}}
	for _, pool := range []*bun.DB{db.Bun(), db.Keyed()} {
		conn, err := pool.Conn(context.Background())
		require.NoError(t, err)
		t.Cleanup(func() {
			postgres.Discard(conn)
			_ = conn.Close()
		})
		_, err = conn.ExecContext(context.Background(), "DEALLOCATE ALL")
		require.NoError(t, err)
		p.conns[pool] = conn
	}
	p.main = p.conns[db.Bun()]
	known := map[string]bool{}
	for _, one := range log {
		shape := literal.ReplaceAllString(one.text, "")
		switch {
		case known[shape]:
		case strings.HasPrefix(one.text, "PREPARE "):
			_, err := p.conns[one.pool].ExecContext(context.Background(), one.text)
			require.NoError(t, err, one.text)
		case strings.Contains(one.text, " stage_"): // a temporary table of another connection
		case planned.MatchString(one.text):
			p.statements = append(p.statements, one)
		}
		known[shape] = true
	}
	return p
}

func (p *plans) exec(statement string) {
	p.t.Helper()
	_, err := p.main.ExecContext(context.Background(), statement)
	require.NoError(p.t, err, statement)
}

// fill adds rows in steps that stay within the statement timeout.
func (p *plans) fill(statement string, from, to int) {
	p.t.Helper()
	for ; from < to; from += 100_000 {
		last := min(from+100_000, to)
		p.exec(strings.NewReplacer("?0", fmt.Sprint(from+1), "?1", fmt.Sprint(last)).Replace(statement))
	}
}

// of returns the plan of a statement.
func (p *plans) of(one poolStatement) string {
	p.t.Helper()
	var lines []string
	require.NoError(p.t, p.conns[one.pool].NewRaw("EXPLAIN "+one.text).Scan(context.Background(), &lines), one.text)
	return strings.Join(lines, "\n")
}

// noScans requires that no statement scans a table, or joins endpoints by comparing all pairs. Without rows this
// applies to prepared statements only, because they keep their plans.
func (p *plans) noScans(rows int) {
	p.t.Helper()
	for _, one := range p.statements {
		if rows > 0 || strings.HasPrefix(one.text, "EXECUTE ") {
			plan := p.of(one)
			require.NotRegexp(p.t, seqScans, plan, "with %d rows: %s", rows, one.text)
			require.NotRegexp(p.t, eachWithEach, plan, "with %d rows: %s", rows, one.text)
		}
	}
}

// useIndexes requires that the statements use planIndexes.
func (p *plans) useIndexes() {
	p.t.Helper()
	for text, indexes := range planIndexes {
		found := false
		for _, one := range p.statements {
			if !strings.Contains(one.text, text) {
				continue
			}
			found = true
			plan := p.of(one)
			for _, index := range indexes {
				if !regexp.MustCompile(index).MatchString(plan) {
					p.t.Errorf("%s does not use %s:\n%s", text, index, plan)
				}
			}
		}
		require.True(p.t, found, "no statement contains %q", text)
	}
}

// manyRows is the number of rows of a long queue. After ANALYZE the planner counts ten times as many.
const manyRows = 100_000

// tenfold needs a superuser. The files stay small, which makes a scan look cheaper than it would be.
const tenfold = `UPDATE pg_class SET reltuples = reltuples * 10 WHERE reltuples > 1000 AND relkind = 'r'
	AND relnamespace = 'public'::regnamespace`

// The statements that connections prepare are planned while the tables are empty.
func TestPlansUseIndexesHoweverLongTheQueues(t *testing.T) {
	clock, url := clocktest.New(), hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, clock)
	pgtest.Exec(t, db, unchecked)
	for table := range planTables {
		pgtest.Exec(t, db, "ALTER TABLE "+table+" SET UNLOGGED, SET (autovacuum_enabled = false)")
	}
	k := newPublishHarnessIn(t, db, clock)
	db.Keyed().SetMaxIdleConns(0) // new connections prepare their statements again
	db.Keyed().SetMaxIdleConns(4)
	var log statementLog
	log.listen(db)
	useQueues(t, k)
	p := newPlans(t, db, log.statements)
	require.Greater(t, len(p.statements), 60)
	p.noScans(0)
	filled := 0
	for _, rows := range []int{1000, manyRows} {
		if rows == manyRows && testing.Short() {
			break
		}
		for _, fill := range planTables {
			p.fill(fill, filled, rows)
		}
		p.noScans(rows)
		p.useIndexes() // although nothing was analyzed
		filled = rows
	}
	if filled < manyRows {
		return
	}
	for table := range planTables {
		p.exec("ANALYZE " + table) // the prepared statements are planned again, as they are every few seconds
	}
	p.noScans(filled)
	p.useIndexes()
	pgtest.Exec(t, hubtest.Connect(t, hubtest.AdminURL(t, url), nil), tenfold)
	p.noScans(10 * filled)
	p.useIndexes()
}

// useQueues places orders and runs each queue once, so that its statements are recorded.
func useQueues(t *testing.T, p *publishHarness) {
	ctx, owner := context.Background(), core.ID{9}
	until := func() time.Time { return p.clock.Now().Add(time.Minute).Truncate(time.Microsecond) }
	for event, url := range map[core.EventType]string{core.OrderPlaced: "http://pos.example:80/placed",
		core.OrderStatusUpdate: "http://pos.example/status"} {
		hubtest.SubscribeSeconds(t, p.db, p.business, event, url)
	}
	intake, riders, calls, hooks := newIntake(t, p.db), orders.NewRiders(p.db), callsOf(p.db), deliveries.New(p.db)
	t.Cleanup(riders.Close)

	// The intake of orders, a change of state, and their events and calls.
	arrival := p.arrival("A-1", "a", oneCurry, `,"delivery_type":"self"`)
	receipts, failures := pgtest.PlaceBatch(ctx, intake, arrival, p.arrival("A-2", "a", oneCurry, ""))
	require.NoError(t, failures[0])
	_, failures = pgtest.PlaceBatch(ctx, intake, arrival)
	require.NoError(t, failures[0])
	id := receipts[0].OrderID
	_, err := orders.New(p.db).Change(ctx, p.business, id, order.Change{To: order.Acknowledged})
	require.NoError(t, err)
	require.Len(t, pgtest.UpdateBatch(riders, order.RiderUpdate{Business: p.business, OrderID: id,
		Status: order.Assigned}), 1)
	require.Len(t, pgtest.LocateBatch(riders, order.RiderLocation{Business: p.business, OrderID: id, Latitude: "1",
		Longitude: "2", SeenAt: p.clock.Now()}), 1)

	// Deliveries: one is blocked, one retries, one is released.
	claimed := func() []webhook.Delivery {
		batch, err := hooks.Claim(ctx, owner, claimUpTo(10, 1<<20), until())
		require.NoError(t, err)
		return batch.Items
	}
	finish := func(state webhook.State, status int, list ...webhook.Delivery) {
		results := make([]webhook.Result, len(list))
		for i, d := range list {
			results[i] = webhook.Result{Delivery: d, State: state, RetryAt: p.clock.Now(),
				Attempt: webhook.Attempt{StartedAt: p.clock.Now(), Status: status, URL: d.URL}}
			if status == 0 {
				results[i].Attempt.ErrorClass = webhook.Timeout
			}
		}
		_, err := hooks.Finish(ctx, owner, results, webhook.CircuitRules{FailureThreshold: 1})
		require.NoError(t, err)
	}
	list := claimed()
	require.NotEmpty(t, list)
	require.NoError(t, hooks.Release(ctx, owner, list))
	finish(webhook.Pending, 0, claimed()...)
	p.clock.Advance(time.Minute)
	for list = claimed(); len(list) > 0; list = claimed() {
		finish(webhook.Delivered, 200, list...)
	}

	// Calls to aggregators.
	capacity := queue.Capacity{Items: 10, OtherKeys: 10, BusyGroups: []string{"none"}}
	claims, err := calls.Claim(ctx, owner, capacity, until())
	require.NoError(t, err)
	work := claims.Items
	require.NotEmpty(t, work)
	require.NoError(t, calls.Release(ctx, owner, work))
	capacity.BusyGroups = nil
	claims, err = calls.Claim(ctx, owner, capacity, until())
	require.NoError(t, err)
	work = claims.Items
	attempt := &relay.Attempt{StartedAt: p.clock.Now()}
	require.NoError(t, calls.Finish(ctx, owner, []relay.Result{{Call: work[0], State: relay.Done, Attempt: attempt,
		FinishedAt: p.clock.Now()}}))
	_, err = calls.Claim(ctx, owner, capacity, until())
	require.NoError(t, err)

	// Publications.
	p.stores(`{"ref_id":"s1","name":"Other"}`)
	p.clock.Advance(time.Minute)
	menus, _ := p.claim(owner)
	require.Len(t, menus, 2)
	require.NoError(t, p.queue.Release(ctx, owner, menus[0]))
	retry := p.published(menus[1])
	retry.State, retry.RetryAt = publishing.Waiting, p.clock.Now()
	p.finish(owner, retry)
	menus, _ = p.claim(owner)
	p.finish(owner, p.published(menus[0]))

	// Jobs.
	jobs := jobsdb.New(p.db)
	enqueue(t, p.db, p.business, `{"stores":[]}`)
	begun, _, err := jobs.Claim(ctx, owner, 4, until())
	require.NoError(t, err)
	require.Len(t, begun, 1)
	require.NoError(t, jobs.Renew(ctx, owner, []job.Progress{{Job: begun[0], Done: 1, Total: 2}}, until()))
	require.NoError(t, jobs.Retry(ctx, begun[0], p.clock.Now(), "again"))
	begun, _, err = jobs.Claim(ctx, owner, 4, until())
	require.NoError(t, err)
	require.NoError(t, jobs.MarkFailed(ctx, begun[0], "failed"))
	_, _, err = jobs.Claim(ctx, owner, 4, until())
	require.NoError(t, err)

	require.NoError(t, replicas.New(p.db).EndLeases(ctx, replicas.Deliveries, owner, nil))
}
