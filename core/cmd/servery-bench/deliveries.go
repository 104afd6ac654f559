package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/webhook"
)

// measureDrain drains a queue of due deliveries to one endpoint. measureBacklog does so with a long queue, once.
func measureDrain(r *run)   { r.measureDrain(pick(r.Quick, 20000, 5000), pick(r.Quick, 3, 2)) }
func measureBacklog(r *run) { r.measureDrain(pick(r.Quick, 60000, 15000), 1) }

func (r *run) measureDrain(n, rounds int) {
	e := r.open().engine(webhook.Minutes)
	done, attempts := 0, 0
	drained := r.alternate(r.Name(), rounds, func() float64 { return e.postAlone(n) }, func() float64 {
		rate := e.fillAndDrain(n)
		e.sink.awaitEach(n, 0)
		done, attempts = done+n, attempts+int(e.queue.recorded.Load())
		e.verifyHistory(done, attempts)
		return rate
	})
	drained.Noted(n, attempts)
}

// postAlone posts n bodies by the sender alone, and returns how many a second.
func (e *engine) postAlone(n int) float64 {
	e.sink.reset(0)
	deliveries := make([]webhook.Delivery, n)
	for i := range deliveries {
		event := e.event(i)
		deliveries[i] = webhook.Delivery{ID: core.NewID(event.At), Business: event.Business, EventID: event.ID,
			EventType: event.Type, Body: event.Body, WebhookID: e.receiver.ID, Endpoint: e.receiver.ID,
			URL: e.receiver.URL, Units: e.receiver.Units, Secret: e.receiver.Secret, DueAt: event.At}
	}
	const inFlight = 16 // attempts of the engine at one endpoint at once
	return throughput(n, inFlight, func(i int) {
		attempt := e.sender.Post(e.ctx, deliveries[i])
		verify(attempt.OK(), "posting: %s", attempt.Error)
	})
}

// measurePublish publishes events one by one from many goroutines while they are delivered.
func measurePublish(r *run) {
	n, done, e := pick(r.Quick, 10000, 3000), 0, r.open().engine(webhook.Minutes)
	insertAlone := func() float64 {
		e.execute(`DROP TABLE IF EXISTS floor; CREATE TABLE floor (id uuid PRIMARY KEY, body bytea NOT NULL)`)
		return throughput(n, publishers, func(i int) {
			e.execute(`INSERT INTO floor VALUES (?, ?)`, core.NewID(time.Now()), requests.Event(i))
		})
	}
	r.alternate("deliveries/publish", pick(r.Quick, 3, 2), insertAlone, func() float64 {
		rate := e.publishAndDeliver(n)
		done += n
		e.verifyHistory(done, done)
		return rate
	}).Noted(n, publishers)
}

// eventsPerSecond is the rate at which latency is measured.
const eventsPerSecond = 50

// steady publishes events of each type at an even rate for the given seconds, after a first event. For each event of
// the first type it returns the milliseconds from the commit, and from the call, until the event arrived.
func (e *engine) steady(seconds int, types ...core.EventType) (after, whole []float64) {
	e.sink.reset(0)
	warm, n := eventsPerSecond*len(types), eventsPerSecond*len(types)*(seconds+1)
	e.start(n)
	defer e.halt()
	all := e.sendAtRate(float64(warm), n, func(i int) string {
		event := e.eventOf(types[i%len(types)], i)
		e.publish(event)
		return event.ID.String()
	})
	came := byID(e.sink.await("/hook", n/len(types), 10*time.Second))
	var first []sent
	for i := warm; i < n; i += len(types) {
		first = append(first, all[i])
	}
	whole, after = latencies(first, came)
	if len(types) == 1 {
		e.awaitRecorded(10 * time.Second)
	}
	return after, whole
}

func measureLatency(r *run) {
	after, whole := r.open().engine(webhook.Minutes).steady(pick(r.Quick, 20, 5), core.OrderPlaced)
	r.add("deliveries/latency median", figures.Median(after)).Noted(len(after), eventsPerSecond, figures.Median(whole))
	most := figures.Percentile(whole, 99)
	r.add("deliveries/latency p99", figures.Percentile(after, 99)).Noted(slices.Max(after), most)
}

// measureNeighbour publishes to an endpoint, alone and beside one that never responds.
func measureNeighbour(r *run) {
	const inTime = time.Second
	e := r.open().engine(webhook.Seconds)
	hubtest.SubscribeSeconds(r, e.db, e.business, core.OrderStatusUpdate, e.sink.at("", hangPath))
	var alone, beside []float64
	hung := 0
	for range pick(r.Quick, 2, 1) {
		after, _ := e.steady(pick(r.Quick, 12, 4), core.OrderPlaced)
		alone = append(alone, after...)
		after, _ = e.steady(pick(r.Quick, 15, 7), core.OrderPlaced, core.OrderStatusUpdate)
		beside = append(beside, after...)
		hung += len(e.sink.arrivals(hangPath))
		e.forgetQueue()
	}
	late := len(slices.DeleteFunc(slices.Clone(beside), func(ms float64) bool { return ms <= inMilliseconds(inTime) }))
	r.add("deliveries/neighbour p99", figures.Percentile(beside, 99)).Against([]float64{figures.Percentile(alone, 99)}).
		Provided(late == 0).
		Noted(len(beside), eventsPerSecond, hung, late, inTime, figures.Median(beside), slices.Max(beside))
}

// measureRetry lets the first attempts of deliveries fail, beside a thousand endpoints whose deliveries wait. The
// lateness of a retry is its arrival less the response before it less the wait.
func measureRetry(r *run) {
	n, failures := pick(r.Quick, 2000, 200), pick(r.Quick, webhook.Seconds.Schedule().Attempts-1, 3)
	attempts, c := n*(failures+1), r.openEndpoints()
	c.fill(10*len(c.webhooks), len(c.webhooks))
	c.execute(`UPDATE delivery_queue SET available_at = now() + interval '1 hour', due_at = now() + interval '1 hour'`)
	c.sink.reset(failures)
	c.start(attempts)
	c.atRate(eventsPerSecond, n, func(i int) { c.publish(c.event(i)) })
	c.awaitRecorded(50 * time.Second)
	var late []float64
	for id, list := range byID(c.sink.arrivals("/hook")) {
		verify(len(list) == failures+1, "delivery %s arrived %d times, not %d", id, len(list), failures+1)
		slices.SortFunc(list, func(a, b Arrival) int { return a.At.Compare(b.At) })
		for i := 1; i < len(list); i++ {
			wait, _ := webhook.Seconds.Schedule().After(i)
			late = append(late, inMilliseconds(list[i].At.Sub(list[i-1].Answered)-wait))
		}
	}
	verify(len(late) == n*failures, "%d retries arrived, not %d", len(late), n*failures)
	earliest := slices.Min(late)
	r.add("deliveries/retry p99", figures.Percentile(late, 99)).
		Noted(len(late), n, figures.Median(late), len(c.webhooks))
	r.add("deliveries/retry max", slices.Max(late)).Provided(earliest >= 0).Noted(earliest)
}

// measureReplicas delivers to a slow endpoint by one built hub and by two. The number of concurrent attempts at an
// endpoint is bounded. So waiting limits a hub, and not the processors that the database, load and endpoint share.
func measureReplicas(r *run) {
	n, e := pick(r.Quick, 2000, 800), r.open().engine(webhook.Seconds)
	hubtest.SubscribeSeconds(r, e.db, e.business, core.OrderStatusUpdate, e.sink.at("", slowPath))
	through := func(hubs int) func() float64 {
		return func() float64 {
			for range hubs {
				defer e.stopHub(e.startHub("SERVERY_ROLES", "worker", "GOMAXPROCS", "1"))
			}
			e.sink.reset(0)
			e.fill(n, func(i int) core.Event { return e.eventOf(core.OrderStatusUpdate, i) })
			list := e.sink.await(slowPath, n, time.Minute)
			return float64(n) / list[len(list)-1].Answered.Sub(list[0].At).Seconds()
		}
	}
	r.alternate("replicas/two", pick(r.Quick, 3, 2), through(1), through(2)).Noted(n, slowResponse)
}

// measureTakeover kills one of two hubs again and again, each time with accepted orders that it has not delivered. The
// figure is the time until the last of them arrived from the other.
func measureTakeover(r *run) {
	const orders = 16 // as many attempts as run at one endpoint
	f := r.openHub()
	s, hubs := f.shop(), []*hubtest.Hub{f.hub, f.startHub()}
	hubtest.Subscribe(s, s.db, s.ID, core.OrderPlaced, s.sink.at("", slowPath))
	var took []float64
	twice := 0
	for i := range r.Kills {
		killed := &hubs[i%len(hubs)]
		s.sink.reset(0)
		s.place(s.newPoster((*killed).URL+ordersPath, s.key), orders)
		at := time.Now()
		(*killed).Kill()
		s.sink.await(slowPath, orders, 30*time.Second)
		s.untilCount(0, `SELECT count(*) FROM delivery_queue`) // those that were sent twice have arrived, too
		list, last := byID(s.sink.arrivals(slowPath)), at
		verify(len(list) == orders, "%d orders arrived, not %d", len(list), orders)
		for _, same := range list {
			twice += len(same) - 1
			if same[0].At.After(last) {
				last = same[0].At
			}
		}
		took = append(took, inMilliseconds(last.Sub(at)))
		*killed = f.startHub()
	}
	s.verifyOrders(warmOrders + orders*r.Kills)
	r.add("replicas/takeover", figures.Percentile(took, 99)).
		Noted(r.Kills, orders, slices.Max(took), figures.Median(took), twice, histogram(took, 250))
}

// histogram counts values by steps, such as "250: 3, 500: 1".
func histogram(values []float64, step int) string {
	counts := map[int]int{}
	for _, value := range values {
		counts[(int(value)/step+1)*step]++
	}
	var parts []string
	for _, below := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d: %d", below, counts[below]))
	}
	return strings.Join(parts, ", ")
}

// endpointSet is an engine with a thousand endpoints on separate hosts. Each of a hundred businesses has one for each
// of ten event types. The last of each business can be unreachable.
type endpointSet struct {
	*engine
	webhooks []webhook.Subscription
}

const eventsPerBusiness = 10

func (r *run) openEndpoints() *endpointSet {
	c := &endpointSet{engine: r.open().engine(webhook.Seconds)}
	for len(c.webhooks) < spreadAddresses {
		business := hubtest.Business(r, c.db).ID
		for _, event := range core.EventTypes()[:eventsPerBusiness] {
			url := c.sink.at(spreadAddress(len(c.webhooks)), "/hook")
			c.webhooks = append(c.webhooks, hubtest.SubscribeSeconds(r, c.db, business, event, url))
		}
	}
	return c
}

// fill stores n events, spread evenly over the first endpoints.
func (c *endpointSet) fill(n, endpoints int) {
	c.engine.fill(n, func(i int) core.Event {
		event, to := c.event(i), c.webhooks[i%endpoints]
		event.Business, event.Type = to.Business, to.EventType
		return event
	})
}

// change makes the tenth of the endpoints dead or alive. Half of the dead hang. The others refuse connections, since
// nothing listens at their hosts.
func (c *endpointSet) change(dead bool) {
	for i := eventsPerBusiness - 1; i < len(c.webhooks); i += eventsPerBusiness {
		host, path := spreadAddress(i), "/mortal"
		switch {
		case dead && i/eventsPerBusiness%2 == 0:
			host = "127.2" + host[len("127.1"):]
		case dead:
			path = hangPath
		}
		c.execute(`UPDATE webhooks SET url = ?, version = version + 1 WHERE id = ?`, c.sink.at(host, path),
			c.webhooks[i].ID)
	}
}

// round queues so many deliveries for each endpoint, and returns how many a second those got that are always alive.
func (c *endpointSet) round(each int, dead bool) float64 {
	all := each * len(c.webhooks)
	c.change(dead)
	c.fill(all, len(c.webhooks))
	c.sink.reset(0)
	began := time.Now()
	c.start(all)
	defer c.forgetQueue()
	defer c.halt()
	list := c.sink.awaitEach(all-all/eventsPerBusiness, time.Minute)
	if !dead {
		c.awaitRecorded(20 * time.Second)
	}
	return rate(list, began)
}

// measureThousand delivers to a thousand endpoints, with and without a dead tenth. The others have the same to do.
func measureThousand(r *run) {
	each, c := pick(r.Quick, 60, 20), r.openEndpoints()
	c.round(2, false) // connections, statements, statistics
	hung, failed := 0, 0
	failures := func() int { return c.count(`SELECT count(*) FROM attempts WHERE error_class <> ''`) }
	thousand := r.alternate("deliveries/thousand endpoints", pick(r.Quick, 2, 1),
		func() float64 { return c.round(each, false) }, func() float64 {
			before := failures()
			rate := c.round(each, true)
			hung, failed = len(c.sink.arrivals(hangPath)), failures()-before
			return rate
		})
	thousand.Noted(each, len(c.webhooks), failed, hung)
}

// measureEndpointGrowth drains the same number of deliveries to ever more endpoints.
func measureEndpointGrowth(r *run) {
	c, n := r.openEndpoints(), pick(r.Quick, 10000, 3000)
	for _, figure := range r.grow(0, pick(r.Quick, 3, 1), func(endpoints int) func() float64 {
		return func() float64 {
			c.fill(n, endpoints)
			return c.drain(n)
		}
	}) {
		figure.Noted(n)
	}
}

// historyDays is over how many days a history spreads: the retention, today included.
const historyDays = 30

// fillHistory stores n finished deliveries, each with its event and its attempt, as many on every day. The hub must
// have made one before.
func (f *fixture) fillHistory(n int) {
	now, each := time.Now().UTC(), n/historyDays
	inParallel(historyDays, 2, func(i int) {
		from := now.Truncate(24*time.Hour).AddDate(0, 0, -i)
		for _, table := range []string{"events", "deliveries", "attempts"} {
			day := bun.Ident(table + from.Format("_20060102"))
			f.execute(`CREATE TABLE IF NOT EXISTS ? PARTITION OF ? FOR VALUES FROM (?) TO (?)`, day, bun.Ident(table),
				core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1)))
			f.execute(queries.With("history_rows", postgres.Args{"table": table, "n": each, "began": from.UnixMilli(),
				"span": min(now.Sub(from), 24*time.Hour).Milliseconds()}))
			f.execute(`VACUUM (ANALYZE) ?`, day)
			stored := f.count(`SELECT count(*) FROM ?`, day)
			verify(stored >= each, "only %d %s of %v are stored", stored, table, from)
		}
	})
	f.execute(`CHECKPOINT`)
}

// measureHistory drains, publishes and takes orders in an empty database and in one with millions of finished
// deliveries.
func measureHistory(r *run) {
	ended := pick(r.Quick, 5_000_000, 500_000)
	due, n, rounds := pick(r.Quick, 20000, 5000), pick(r.Quick, 6000, 2000), pick(r.Quick, 4, 2)
	empty, full := r.open().engine(webhook.Minutes), r.open().engine(webhook.Minutes)
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
