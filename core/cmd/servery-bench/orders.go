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
	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

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
func (c intakeFloorCommand) Run(ctx context.Context) error {
	debug.SetGCPercent(300) // as the hub
	db := openSQL(c.Database, c.Connections)
	defer db.Close()
	must(db.ExecContext(ctx, queries.With("floor_tables", nil)))
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
	return app.Listener(listener)
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
	n, drained, f := pick(r.Quick, 10000, 2000), r.open().engine(webhook.Minutes), r.openHub()
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
	s.execute(queries.With("failed_queue", postgres.Args{"business": s.ID, "url": s.sink.url,
		"attempts": webhook.Minutes.Schedule().Attempts}))
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

// measureStatuses moves the orders of a business without webhooks through their states, and those of one with a
// webhook.
func measureStatuses(r *run) {
	n, f := pick(r.Quick, 3000, 800), r.openHub()
	floor, quiet, loud := f.startIntakeFloor(connections), f.shop(), f.shop()
	hubtest.Subscribe(f, f.db, loud.ID, core.OrderStatusUpdate, f.sink.url)
	changes := n * len(statuses)
	values := inTurn(pick(r.Quick, 4, 2), func() float64 {
		quiet.place(floor, n)
		return floor.changeStates(f.newest("floor_orders", 1, n), "")
	}, func() float64 {
		quiet.place(quiet.orders, n)
		return quiet.changeStates(n)
	}, func() float64 {
		loud.place(loud.orders, n)
		loud.sink.reset(0)
		began := time.Now()
		loud.changeStates(n)
		return rate(loud.sink.awaitEach(changes, time.Minute), began)
	})
	f.verifyCount(2*changes*len(values[0]), `SELECT count(*) FROM order_states`)
	f.verifyCount(0, `SELECT count(*) FROM orders WHERE state <> 'Completed' AND events > 1`)
	r.add("orders/statuses", values[1]...).Against(values[0]).Noted(changes, n, connections)
	r.add("orders/statuses delivered", values[2]...).Against(values[0]).Noted(changes)
}

// statuses are the states through which an order passes.
var statuses = []order.State{order.Acknowledged, order.FoodReady, order.Dispatched, order.Completed}

// newest returns the ids of the newest orders of a business.
func (f *fixture) newest(table string, business core.BusinessID, n int) (ids []int64) {
	check(f.sql.NewRaw(`SELECT id FROM `+table+` WHERE business_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
		business, n).Scan(f.ctx, &ids))
	return ids
}

// changeStates moves the newest orders of the shop through their states, and returns how many changes a second were
// accepted.
func (s *shop) changeStates(n int) float64 {
	hub := s.newPoster(s.hub.URL+"/external/api/v1/orders/", s.Authorization)
	return hub.changeStates(s.newest("orders", s.ID, n), "/status/")
}

// changeStates moves orders through their states, all to one before the next.
func (p *poster) changeStates(orders []int64, suffix string) float64 {
	return throughput(len(orders)*len(statuses), connections, func(i int) {
		check(p.send(fasthttp.MethodPut, fmt.Sprint(orders[i%len(orders)], suffix),
			fmt.Appendf(nil, `{"new_status":%q}`, statuses[i/len(orders)])))
	})
}

// ordersPerSecond is the rate of orders of a busy merchant, at which the hub mostly rests.
const ordersPerSecond = 50

// measureSteady posts orders at an even rate to the floor and to the hub alternately.
func measureSteady(r *run) {
	n, f := ordersPerSecond*pick(r.Quick, 10, 5), r.openHub()
	floor, s := f.startIntakeFloor(connections), f.shop().listen()
	s.place(floor, warmOrders)
	s.place(s.orders, warmOrders)
	var floors, took, arrived []float64
	processor, orders := 0.0, 0
	for range pick(r.Quick, 5, 3) {
		floors = append(floors, responseTimes(s.steady(floor, n))...)
		s.sink.reset(0)
		before := f.processorOf(s.orders)
		all := s.steady(s.orders, n)
		f.sink.await("/hook", n, 10*time.Second)
		processor, orders = processor+f.processorOf(s.orders)-before, orders+n
		took = append(took, responseTimes(all)...)
		whole, _ := latencies(all, s.arrivals())
		arrived = append(arrived, whole...)
	}
	flood := pick(r.Quick, 10000, 4000)
	each := func(seconds float64, n int) float64 { return seconds * 1e6 / float64(n) }
	cost := func(of *poster, place func()) float64 {
		before := f.processorOf(of)
		place()
		return each(f.processorOf(of)-before, flood)
	}
	flooded := inTurn(pick(r.Quick, 3, 2), func() float64 { return cost(floor, func() { s.place(floor, flood) }) },
		func() float64 { return cost(s.orders, func() { s.journey(flood) }) })
	post, arrival := figures.Median(took), figures.Median(arrived)
	r.add("orders/steady median", post).Against([]float64{figures.Median(floors)}).Noted(orders, ordersPerSecond)
	r.add("orders/steady p99", figures.Percentile(took, 99)).Against([]float64{figures.Percentile(floors, 99)})
	r.add("orders/steady arrival", arrival-post).Noted(arrival, figures.Percentile(arrived, 99))
	r.add("orders/processor", flooded[1]...).Against(flooded[0]).
		Noted(flood, connections, ordersPerSecond, each(processor, orders))
}

// steady posts orders at an even rate.
func (s *shop) steady(to *poster, n int) []sent {
	first := s.fixture.orders
	body := s.next(n)
	return s.sendAtRate(ordersPerSecond, n, func(i int) string {
		to.post(body(i))
		return fmt.Sprintf("W-%d", first+i)
	})
}

// responseTimes are the milliseconds from each beginning to the response.
func responseTimes(all []sent) (took []float64) {
	for _, one := range all {
		took = append(took, inMilliseconds(one.returned.Sub(one.began)))
	}
	return took
}

// arrivals returns those of the shop's orders, by their platform_order_id.
func (s *shop) arrivals() map[string][]Arrival {
	var placed []struct{ PlacedEvent, PlatformOrderID string }
	check(s.sql.NewRaw(`SELECT placed_event::text, platform_order_id FROM orders WHERE business_id = ?`, s.ID).
		Scan(s.ctx, &placed))
	byEvent, byOrder := byID(s.sink.arrivals("/hook")), map[string][]Arrival{}
	for _, order := range placed {
		byOrder[order.PlatformOrderID] = byEvent[order.PlacedEvent]
	}
	return byOrder
}

// processorOf is the processor time, in seconds, of a server of orders and of the database.
func (f *fixture) processorOf(to *poster) (total float64) {
	ours := hubtest.ProcessesIn(f.server.Cluster())
	ours[to.server] = ""
	for pid := range ours {
		if process, err := procfs.NewProc(pid); err == nil {
			stat, _ := process.Stat() // zero if it has ended
			total += stat.CPUTime()
		}
	}
	return total
}
