package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// shop is a business whose only store sells a menu on its own platform. It has had its first orders.
type shop struct {
	*fixture
	hubtest.Tenant
	key    string
	orders *poster
	sent   *int // orders so far, of all shops of the fixture: each is another
}

// warmOrders is how many orders a shop has had before anything is measured.
const warmOrders = 500

func (f *fixture) shop(sent *int) *shop {
	s := &shop{fixture: f, Tenant: f.business("IN"), sent: sent}
	f.post(s.Tenant, storesPath, encode(object{"stores": []object{{"ref_id": orderedStore, "name": "Harbour Street",
		"city": "Pune", "address": "14 Harbour Street", "active": true, "ordering_enabled": true,
		"excluded_platforms": []string{}}}}), 1, 0)
	menu := orderedMenu()
	f.post(s.Tenant, masterPath, encode(menu), menu.size(), 0)
	f.post(s.Tenant, menuPath(orderedStore), encode(menu.sold()), 0, menu.sold().size())
	s.key = hubtest.ChannelKey(f, f.db, s.ID, "")
	s.connect()
	f.execute(`ANALYZE stores, catalogue_entities, menu_links, store_overrides`) // as autovacuum does within minutes
	s.place(s.orders, warmOrders)
	return s
}

// connect opens connections for the orders.
func (s *shop) connect() { s.orders = s.newPoster(s.hub.host(), ordersPath, s.key) }

// listen subscribes the sink to the orders.
func (s *shop) listen() *shop {
	hubtest.Subscribe(s, s.db, s.ID, core.OrderPlaced, s.sink.url, webhook.Minutes)
	return s
}

// number reserves the numbers of n orders, and returns the first.
func (s *shop) number(n int) (first int) {
	first = *s.sent
	*s.sent += n
	return first
}

// place posts n orders as fast as possible, and returns how many a second.
func (s *shop) place(to *poster, n int) float64 {
	first, began := s.number(n), time.Now()
	inParallel(n, connections, func(i int) { to.post(orderBody(first + i)) })
	return float64(n) / time.Since(began).Seconds()
}

// journey places n orders, and returns how many a second arrived.
func (s *shop) journey(n int) float64 {
	s.sink.reset(0)
	began := time.Now()
	s.place(s.orders, n)
	return s.arrived(n, began)
}

// arrived waits for the deliveries of n orders, and returns how many a second arrived.
func (s *shop) arrived(n int, since time.Time) float64 {
	list := s.sink.await("/hook", n, time.Minute)
	distinct := len(byID(list))
	verify(distinct == n, "%d orders reached the endpoint, not %d", distinct, n)
	return rate(list, since)
}

// verifyOrders verifies how many orders the shop has, that each is another, and that none is flagged.
func (s *shop) verifyOrders(want int) {
	s.verifyCount(want, `SELECT count(*) FROM orders WHERE business_id = ?`, s.ID)
	s.verifyCount(0, `SELECT count(*) FROM orders WHERE business_id = ? AND flags > 0`, s.ID)
	s.verifyCount(want, `SELECT count(DISTINCT platform_order_id) FROM orders WHERE business_id = ?`, s.ID)
	s.verifyCount(want, `SELECT count(*) FROM events WHERE business_id = ? AND event_type = 'order_placed'`, s.ID)
}

// intakeFloorCommand is the floor of order intake, in a separate process as the hub is. It decodes an order and
// stores its row, one INSERT a request.
type intakeFloorCommand struct {
	Database    string `required:"" help:"Address of the database."`
	Connections int    `required:"" help:"How many connections to it."`
}

// Run serves until standard input ends.
func (c intakeFloorCommand) Run(ctx context.Context) error {
	debug.SetGCPercent(300) // as the hub
	db, err := openSQL(c.Database, c.Connections)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx,
		`CREATE TABLE IF NOT EXISTS floor_orders (LIKE orders INCLUDING ALL, record bytea NOT NULL);
		CREATE SEQUENCE IF NOT EXISTS floor_order_ids`); err != nil {
		return err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", func(c *fiber.Ctx) error {
		draft, err := order.Decode(c.Body())
		if err != nil {
			return err
		}
		var id int64
		err = db.QueryRowContext(c.UserContext(),
			`INSERT INTO floor_orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order,
				delivery_type, flags, events, placed_event, placed_by, created_at, updated_at, record)
			VALUES (1, nextval('floor_order_ids'), ?, ?, 1, 'Placed', ?, ?, 0, 1, gen_random_uuid(), 'key:shop', now(),
				now(), ?) RETURNING id`,
			draft.Platform, draft.PlatformOrderID, draft.Bulk, draft.DeliveryMode, c.Body()).Scan(&id)
		return errors.Join(err, c.JSON(fiber.Map{"status": "success", "order_id": id}))
	})
	listener, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := untilStdinEnds(ctx, time.Hour, listener.Addr())
	defer stop()
	context.AfterFunc(ctx, func() { _ = app.Shutdown() })
	return app.Listener(listener)
}

func (f *fixture) startIntakeFloor(connections int) *poster {
	process := f.startChild("intake-floor", "--database", f.address, "--connections", strconv.Itoa(connections))
	return f.newPoster(process.ready, "/", "")
}

// measureOrders posts orders of a business without webhooks, and of one with a webhook.
func measureOrders(r *run) {
	n, sent := pick(r.Quick, 20000, 4000), 0
	f := r.openHub("orders")
	floor, single := f.startIntakeFloor(connections), f.startIntakeFloor(1)
	quiet, loud := f.shop(&sent), f.shop(&sent).listen()
	quiet.place(floor, warmOrders)
	values := inTurn(pick(r.Quick, 3, 2),
		func() float64 { return quiet.place(floor, n) }, func() float64 { return quiet.place(single, n/4) },
		func() float64 { return quiet.place(quiet.orders, n) }, func() float64 { return loud.journey(n) })
	floors, singles, intakes, journeys := values[0], values[1], values[2], values[3]
	half := median(intakes) / 2
	steady := int(half * pick(r.Quick, 8.0, 3.0))
	first := quiet.number(steady)
	took := atRate(r.ctx, half, steady, func(i int) { quiet.orders.post(orderBody(first + i)) })
	quiet.verifyOrders(warmOrders + len(floors)*n + steady)
	loud.verifyOrders(warmOrders + len(floors)*n)
	r.add(measured("orders/intake", perSecond, intakes...).against(floors).withTarget(">= 300%").
		noted("%d orders of %d bytes, durable, over %d connections, nobody subscribed; floor: a server that reads the "+
			"same and does one INSERT, which PostgreSQL commits in groups as well", n, len(orderBody(n)), connections),
		measured("orders/intake grouped", perSecond, intakes...).against(singles).withTarget(">= 300%").
			noted("the same; floor: that server over one connection to the database, without groups"),
		measured("orders/intake p99", milliseconds, percentile(took, 99)).withTarget("< 50 ms").
			noted("%d orders at %.0f/s, half of that; median %.2f ms, at most %.1f ms", steady, half,
				percentile(took, 50), percentile(took, 100)),
		measured("orders/journey", perSecond, journeys...).against(floors).withTarget(">= 70%").
			noted("%d orders to one endpoint, first POST to last arrival; floor: as above", n))
}

// measureOrderRetry resends the failed deliveries of orders by one request, beside a drain of as many.
func measureOrderRetry(r *run) {
	n, sent := pick(r.Quick, 10000, 2000), 0
	floor := r.openEngine("retrydrain", webhook.Minutes).fillAndDrain(n)
	f := r.openHub("orderretry")
	s := f.shop(&sent).listen()
	hubtest.Subscribe(r, f.db, s.ID, core.WebhookRetry, f.sink.at("", "/callback"), webhook.Minutes)
	since := time.Now()
	s.fail(n)
	f.sink.reset(0)
	taken := f.submit(s.Tenant, "/external/api/v1/webhooks/retry/", fmt.Appendf(nil,
		`{"event_type":18,"start_time":%d,"end_time":%d}`, since.UnixMilli(), time.Now().Add(time.Second).UnixMilli()))
	seen := 0
	f.until(time.Minute, "the job ends", func() bool {
		var job struct {
			State string
			Done  int `json:"objects_done"`
		}
		content := f.send("/external/api/v1/jobs/"+taken.Reference+"/", s.Authorization, nil)
		check(json.Unmarshal(content, &job))
		verify(job.State != "failed" && (job.State != "done" || job.Done == n), "the job of %d orders: %s", n, content)
		if job.State != "done" && job.Done > 0 {
			seen++
		}
		return job.State == "done"
	})
	resent := s.arrived(n, taken.sent)
	f.sink.await("/callback", 1, time.Minute)
	r.add(measured("orders/retry", perSecond, resent).against([]float64{floor}).withTarget(">= 80%").
		noted("%d failed orders, POST to last arrival; its progress was read %d times on the way; "+
			"floor: a drain of as many", n, seen))
}

// fail places n orders that the sink refuses, and then ends their deliveries as six attempts would.
func (s *shop) fail(n int) {
	s.sink.reset(1)
	s.place(s.orders, n)
	s.untilCount(n, `SELECT count(*) FROM delivery_queue WHERE business_id = ? AND attempts = 1`, s.ID)
	s.execute(`WITH over AS (DELETE FROM delivery_queue WHERE business_id = ? RETURNING *)
		INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status,
			finished_at)
		SELECT business_id, id, event_id, event_type, webhook_id, ?, 'failed', ?, 500, now() FROM over`,
		s.ID, s.sink.url, webhook.Minutes.Schedule().Attempts)
}

// measureRush runs `servery simulate rush`, which orders from the menu of a store.
func measureRush(r *run) {
	const perSecond = 200
	sent, lasts := 0, pick(r.Quick, time.Minute, 10*time.Second)
	f := r.openHub("rush")
	s := f.shop(&sent).listen()
	f.sink.reset(0)
	rush := exec.CommandContext(r.ctx, r.Hub, "simulate", "rush", "--business", fmt.Sprint(s.ID), "--store",
		orderedStore, "--platform", "web", "--rate", fmt.Sprint(perSecond), "--for", lasts.String(), "--seed", "1",
		"--json")
	rush.Env = append(f.environment(must(os.MkdirTemp(r.scratch, "rush"))), "SERVERY_BASE_URL="+f.hub.base)
	rush.Stderr = os.Stderr
	var report struct {
		Calls []struct {
			P99 float64 `json:"p99_ms"`
		}
	}
	check(json.Unmarshal(must(rush.Output()), &report))
	verify(len(report.Calls) == 1, "the report of a rush: %v", report)
	n := int(perSecond * lasts.Seconds())
	s.arrived(n, time.Now())
	var took []float64
	for _, a := range f.sink.arrivals("") {
		// The event's id contains when its order was stored, to the millisecond.
		seconds, nanoseconds := must(uuid.Parse(a.ID)).Time().UnixTime()
		took = append(took, inMilliseconds(a.time().Sub(time.Unix(seconds, nanoseconds))))
	}
	r.add(measured("sandbox/rush", milliseconds, percentile(took, 99)).withTarget("< 200 ms").
		noted("99%% of %d orders that `servery simulate rush` placed at %d/s from the store's menu, from the hub to "+
			"the endpoint, all delivered; median %.1f ms; responses: 99%% within %.1f ms", n, perSecond,
			percentile(took, 50), report.Calls[0].P99))
}

// historyDays is over how many days a history spreads: the retention, today included.
const historyDays = 30

// historyTables are those of the history, with their columns for an id and for a time. All other columns are copied
// from a row that the hub has written.
var historyTables = []struct {
	name       string
	ids, times []string
}{
	{"events", []string{"id"}, nil},
	{"deliveries", []string{"id", "event_id"}, []string{"finished_at"}},
	{"attempts", []string{"delivery_id"}, []string{"started_at"}},
}

// fillHistory stores n finished deliveries, each with its event and its attempt, as many on every day. The hub must
// have made one before.
func (f *fixture) fillHistory(n int) {
	now := time.Now().UTC()
	today := now.Truncate(24 * time.Hour)
	inParallel(historyDays, 2, func(i int) {
		span := 24 * time.Hour
		if i == 0 {
			span = now.Sub(today)
		}
		f.fillDay(today.AddDate(0, 0, -i), span, n/historyDays)
	})
	f.execute(`CHECKPOINT`)
	for _, table := range historyTables {
		rows := f.count(`SELECT count(*) FROM ?`, bun.Ident(table.name))
		verify(rows >= n/historyDays*historyDays, "only %d %s are stored", rows, table.name)
	}
}

// fillDay stores n of each over a span from the beginning of a day.
func (f *fixture) fillDay(from time.Time, span time.Duration, n int) {
	for _, table := range historyTables {
		name := bun.Ident(table.name + "_" + from.Format("20060102"))
		f.execute(`CREATE TABLE IF NOT EXISTS ? PARTITION OF ? FOR VALUES FROM (?) TO (?)`, name, bun.Ident(table.name),
			core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1)))
		var columns []string
		check(f.sql.NewRaw(`SELECT column_name FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name = ? ORDER BY ordinal_position`, table.name).
			Scan(f.ctx, &columns))
		values := make([]string, len(columns))
		for i, column := range columns {
			switch {
			case slices.Contains(table.ids, column):
				values[i] = "numbered.id"
			case slices.Contains(table.times, column):
				values[i] = "numbered.at"
			default:
				values[i] = "pattern." + column
			}
		}
		// The ids ascend with the time, as those of the hub do (RFC 9562, version 7).
		f.execute(`INSERT INTO ?0 (?1) SELECT ?2 FROM (SELECT * FROM ?3 LIMIT 1) pattern,
			(SELECT to_timestamp(ms / 1000.0) AS at,
				(lpad(to_hex(ms), 12, '0') || '7000a' || lpad(to_hex(i), 15, '0'))::uuid AS id
			FROM generate_series(1, ?4) i, LATERAL (SELECT ?5::bigint + i::bigint * ?6 / (?4 + 1) AS ms) m) numbered`,
			name, bun.Safe(strings.Join(columns, ", ")), bun.Safe(strings.Join(values, ", ")), bun.Ident(table.name), n,
			from.UnixMilli(), span.Milliseconds())
		f.execute(`VACUUM (ANALYZE) ?`, name)
	}
}

// measureHistory drains, publishes and takes orders in an empty database and in one with millions of finished
// deliveries.
func measureHistory(r *run) {
	ended := pick(r.Quick, 5_000_000, 500_000)
	due, n, rounds := pick(r.Quick, 20000, 5000), pick(r.Quick, 6000, 2000), pick(r.Quick, 4, 2)
	empty, full := r.openEngine("historyless", webhook.Minutes), r.openEngine("history", webhook.Minutes)
	empty.fillAndDrain(due)
	full.fillAndDrain(due) // the pattern of the history
	filled := timed(func() { full.fillHistory(ended) }) / 1000
	size := full.count(`SELECT pg_database_size(current_database())`)
	drains := inTurn(rounds, func() float64 { return empty.fillAndDrain(due) },
		func() float64 { return full.fillAndDrain(due) })
	publishes := inTurn(rounds, func() float64 { return empty.publishAndDeliver(n) },
		func() float64 { return full.publishAndDeliver(n) })
	var intake []func() float64
	for _, e := range []*engine{empty, full} {
		e.hub = e.startHub()
		s := e.shop(new(int))
		intake = append(intake, func() float64 { return s.place(s.orders, n) })
	}
	intakes := inTurn(rounds, intake...)
	r.add(measured("deliveries/history drain", perSecond, drains[1]...).at(ended).against(drains[0]).withTarget(">= 91%").
		noted("%d due beside %d that ended within %d days (%.1f GB, filled in %.0f s); floor: the same in an empty "+
			"database", due, ended, historyDays, float64(size)/1e9, filled),
		measured("deliveries/history publish", perSecond, publishes[1]...).against(publishes[0]).withTarget(">= 91%").
			noted("%d events from %d goroutines, first publish to last arrival", n, publishers),
		measured("orders/history", perSecond, intakes[1]...).against(intakes[0]).withTarget(">= 91%").
			noted("%d orders accepted over %d connections, nobody subscribed", n, connections))
}
