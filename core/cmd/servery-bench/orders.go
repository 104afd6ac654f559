package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// shop is a business whose only store sells a menu on its own platform. It has had its first orders.
type shop struct {
	*client
	key    string
	orders *poster
	shapes [][]byte // orders without their platform_order_id
}

const (
	shopStore   = "S-orders"
	shopObjects = 3725 // of its menu, 500 of them items
	warmOrders  = 500  // before anything is measured
)

func (f *fixture) shop() *shop { return f.shopOf(f.business("IN")) }

// shopOf is shop for an existing business.
func (f *fixture) shopOf(who *client) *shop {
	s := &shop{client: who}
	s.post(storesPath, fmt.Appendf(nil, `{"stores":[{"ref_id":%q,"name":"Harbour Street","city":"Pune",
		"address":"14 Harbour Street","ordering_enabled":true,"excluded_platforms":[]}]}`, shopStore), 1, 0)
	rows := requests.NewMenu(shopObjects)
	s.post(masterPath, requests.Encode(rows), rows.Size(), 0)
	s.post(menuPath(shopStore), requests.Encode(rows.Sold()), 0, rows.Sold().Size())
	s.key = hubtest.ChannelKey(f, f.db, s.ID, "")
	var effective menu.EffectiveMenu
	check(json.Unmarshal(f.send("/channel/api/v1/stores/"+shopStore+"/menu/?platform=web", s.key, nil), &effective))
	for _, one := range must(sandbox.Orders(effective, "web", 250)) {
		s.shapes = append(s.shapes, requests.Encode(one))
	}
	s.connect()
	f.execute(`ANALYZE stores, catalogue_entities, menu_links, store_overrides`) // as autovacuum does within minutes
	s.place(s.orders, warmOrders)
	return s
}

func (s *shop) connect() {
	s.orders = s.newPoster(s.hub.URL+ordersPath, s.key)
	s.orders.server = s.hub.PID()
}

// listen subscribes the sink to the orders.
func (s *shop) listen() *shop {
	hubtest.Subscribe(s, s.db, s.ID, core.OrderPlaced, s.sink.url)
	return s
}

// next reserves the numbers of n orders, and returns the body of each.
func (s *shop) next(n int) func(i int) []byte {
	first := s.fixture.orders
	s.fixture.orders += n
	return func(i int) []byte {
		return fmt.Appendf(nil, `{"platform_order_id":"W-%d",%s`, first+i, s.shapes[(first+i)%len(s.shapes)][1:])
	}
}

// place posts n orders as fast as possible, and returns how many a second.
func (s *shop) place(to *poster, n int) float64 {
	body := s.next(n)
	return throughput(n, connections, func(i int) { to.post(body(i)) })
}

// journey places n orders, and returns how many a second arrived.
func (s *shop) journey(n int) float64 {
	s.sink.reset(0)
	began := time.Now()
	s.place(s.orders, n)
	return rate(s.sink.awaitEach(n, time.Minute), began)
}

// verifyOrders verifies how many orders the shop has, that each is another, and that none is flagged.
func (s *shop) verifyOrders(want int) {
	s.verifyCount(want, `SELECT count(*) FROM orders WHERE business_id = ?`, s.ID)
	s.verifyCount(0, `SELECT count(*) FROM orders WHERE business_id = ? AND flags > 0`, s.ID)
	s.verifyCount(want, `SELECT count(DISTINCT platform_order_id) FROM orders WHERE business_id = ?`, s.ID)
	s.verifyCount(want, `SELECT count(*) FROM events WHERE business_id = ? AND event_type = 'order_placed'`, s.ID)
}

// intakeFloorCommand is the floor of order intake, in a separate process as the hub is. It decodes an order and
// stores its row, one INSERT a request. It changes the state of an order by one UPDATE.
type intakeFloorCommand struct {
	Database    string `required:"" help:"Address of the database."`
	Connections int    `required:"" help:"How many connections to it."`
}

// Run serves until standard input ends.
func (c intakeFloorCommand) Run(ctx context.Context) error { return attempt(func() { c.serve(ctx) }) }

func (c intakeFloorCommand) serve(ctx context.Context) {
	debug.SetGCPercent(300) // as the hub
	db := openSQL(c.Database, c.Connections)
	defer db.Close()
	must(db.ExecContext(ctx,
		`CREATE TABLE IF NOT EXISTS floor_orders (LIKE orders INCLUDING ALL, record bytea NOT NULL);
		CREATE SEQUENCE IF NOT EXISTS floor_order_ids`))
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", func(c *fiber.Ctx) error {
		draft, invalid := order.Decode(c.Body())
		var id int64
		err := db.QueryRowContext(c.UserContext(), queries.With("floor_order", postgres.Args{
			"platform": draft.Platform, "platform_order_id": draft.PlatformOrderID, "bulk": draft.Bulk,
			"delivery_mode": draft.DeliveryMode, "record": c.Body()})).Scan(&id)
		return errors.Join(invalid, err, c.JSON(fiber.Map{"status": "success", "order_id": id}))
	})
	app.Put("/:id", func(c *fiber.Ctx) error {
		change, invalid := order.DecodeChange(c.Body())
		var from string
		err := db.QueryRowContext(c.UserContext(),
			`UPDATE floor_orders SET state = ?, events = events + 1, updated_at = now() WHERE business_id = 1 AND id = ?
				RETURNING state`, change.To, c.Params("id")).Scan(&from)
		return errors.Join(invalid, err, c.JSON(fiber.Map{"status": "success", "message": from}))
	})
	listener := must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = app.Shutdown()
	}()
	fmt.Printf("http://%s/\n", listener.Addr())
	check(app.Listener(listener))
}

func (f *fixture) startIntakeFloor(connections int) *poster {
	process := f.startChild("intake-floor", "--database", f.env["SERVERY_DATABASE_URL"],
		"--connections", strconv.Itoa(connections))
	floor := f.newPoster(process.ready, "")
	floor.server = process.PID()
	return floor
}

// measureOrders posts orders of a business without webhooks, and of one with a webhook.
func measureOrders(r *run) {
	n, f := pick(r.Quick, 20000, 4000), r.openHub()
	floor, single := f.startIntakeFloor(connections), f.startIntakeFloor(1)
	quiet, loud := f.shop(), f.shop().listen()
	quiet.place(floor, warmOrders)
	values := inTurn(pick(r.Quick, 3, 2),
		func() float64 { return quiet.place(floor, n) }, func() float64 { return quiet.place(single, n/4) },
		func() float64 { return quiet.place(quiet.orders, n) }, func() float64 { return loud.journey(n) })
	floors, singles, intakes, journeys := values[0], values[1], values[2], values[3]
	half := figures.Median(intakes) / 2
	steady := int(half * pick(r.Quick, 8.0, 3.0))
	body := quiet.next(steady)
	took := r.atRate(half, steady, func(i int) { quiet.orders.post(body(i)) })
	quiet.verifyOrders(warmOrders + len(floors)*n + steady)
	loud.verifyOrders(warmOrders + len(floors)*n)
	r.add("orders/intake", intakes...).Against(floors).Noted(n, len(body(0)), connections)
	r.add("orders/intake grouped", intakes...).Against(singles)
	r.add("orders/intake p99", figures.Percentile(took, 99)).Noted(steady, half, figures.Median(took), slices.Max(took))
	r.add("orders/journey", journeys...).Against(floors).Noted(n)
}

// measureOrderRetry resends the failed deliveries of orders by one request, and drains as many.
func measureOrderRetry(r *run) {
	n, drained, f := pick(r.Quick, 10000, 2000), r.openEngine(webhook.Minutes), r.openHub()
	f.retryOrders(n / 10)
	r.alternate("orders/retry", pick(r.Quick, 3, 2), func() float64 { return drained.fillAndDrain(n) },
		func() float64 { return f.retryOrders(n) }).Noted(n)
}

// retryOrders places n orders of a new business that fail, and returns how many a second arrive once a request resends
// them.
func (f *fixture) retryOrders(n int) float64 {
	s := f.shop().listen()
	hubtest.Subscribe(f, f.db, s.ID, core.WebhookRetry, f.sink.at("", "/callback"))
	since := time.Now()
	s.fail(n)
	s.sink.reset(0)
	taken := s.submit("/external/api/v1/webhooks/retry/", fmt.Appendf(nil,
		`{"event_type":18,"start_time":%d,"end_time":%d}`, since.UnixMilli(), time.Now().Add(time.Second).UnixMilli()))
	resent := rate(s.sink.awaitEach(n, time.Minute), taken.began)
	s.sink.await("/callback", 1, time.Minute)
	s.verifyCount(n, `SELECT progress FROM jobs WHERE business_id = ? AND id = ? AND state = 'done'`, s.ID, taken.key)
	return resent
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
	lasts, f := pick(r.Quick, time.Minute, 10*time.Second), r.openHub()
	s := f.shop().listen()
	f.sink.reset(0)
	env := f.env.With("SERVERY_DATA_DIR", r.scratch, "SERVERY_BASE_URL", f.hub.URL)
	status, _, failure := hubtest.Run(r, r.Hub, env, "simulate", "rush", "--business", fmt.Sprint(s.ID), "--store",
		shopStore, "--platform", "web", "--rate", fmt.Sprint(perSecond), "--for", lasts.String(), "--seed", "1")
	verify(status == 0, "the rush: %s", failure)
	n := int(perSecond * lasts.Seconds())
	var took []float64
	for _, a := range s.sink.awaitEach(n, time.Minute) {
		// The event's id contains when its order was stored, to the millisecond.
		seconds, nanoseconds := must(uuid.Parse(a.ID)).Time().UnixTime()
		took = append(took, inMilliseconds(a.At.Sub(time.Unix(seconds, nanoseconds))))
	}
	r.add("sandbox/rush", figures.Percentile(took, 99)).Noted(n, perSecond, figures.Median(took))
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
		name, day := bun.Ident(table.name), bun.Ident(table.name+"_"+from.Format("20060102"))
		f.execute(`CREATE TABLE IF NOT EXISTS ? PARTITION OF ? FOR VALUES FROM (?) TO (?)`, day, name,
			core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1)))
		var columns, values string
		f.scan([]any{&columns, &values}, queries.With("history_columns", postgres.Args{"table_name": table.name,
			"ids": pgdialect.Array(table.ids), "times": pgdialect.Array(table.times)}))
		f.execute(queries.With("history_rows", postgres.Args{"day": day, "table": name, "n": n,
			"columns": bun.Safe(columns), "values": bun.Safe(values), "began": from.UnixMilli(),
			"span": span.Milliseconds()}))
		f.execute(`VACUUM (ANALYZE) ?`, day)
	}
}

// measureHistory drains, publishes and takes orders in an empty database and in one with millions of finished
// deliveries.
func measureHistory(r *run) {
	ended := pick(r.Quick, 5_000_000, 500_000)
	due, n, rounds := pick(r.Quick, 20000, 5000), pick(r.Quick, 6000, 2000), pick(r.Quick, 4, 2)
	empty, full := r.openEngine(webhook.Minutes), r.openEngine(webhook.Minutes)
	empty.fillAndDrain(due)
	full.fillAndDrain(due) // the pattern of the history
	filled := timed(func() { full.fillHistory(ended) }) / 1000
	size := full.count(`SELECT pg_database_size(current_database())`)
	r.alternate("deliveries/history drain", rounds, func() float64 { return empty.fillAndDrain(due) },
		func() float64 { return full.fillAndDrain(due) }).Sized(ended).
		Noted(due, ended, historyDays, float64(size)/1e9, filled)
	r.alternate("deliveries/history publish", rounds, func() float64 { return empty.publishAndDeliver(n) },
		func() float64 { return full.publishAndDeliver(n) }).Noted(n, publishers)
	intake := func(e *engine) func() float64 {
		e.hub = e.startHub()
		s := e.shop()
		return func() float64 { return s.place(s.orders, n) }
	}
	r.alternate("orders/history", rounds, intake(empty), intake(full)).Noted(n, connections)
}
