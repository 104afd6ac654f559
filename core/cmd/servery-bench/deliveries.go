package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/webhook"
)

// endpointInFlight is how many attempts the engine makes at one endpoint at once.
const endpointInFlight = 16

// measureDrain drains a queue of due deliveries to one endpoint.
func measureDrain(r *run) { r.measureDrain("drain", pick(r.Quick, 20000, 5000), pick(r.Quick, 3, 2)) }

// measureBacklog is measureDrain of a long queue, once.
func measureBacklog(r *run) { r.measureDrain("backlog", pick(r.Quick, 60000, 15000), 1) }

func (r *run) measureDrain(name string, n, rounds int) {
	e := r.openEngine(name, webhook.Minutes)
	done, attempts := 0, 0
	values := inTurn(rounds, func() float64 { return e.postAlone(n) }, func() float64 {
		rate := e.fillAndDrain(n)
		arrived := len(byID(e.sink.arrivals("/hook")))
		verify(arrived == n, "%d deliveries reached the sink, not %d", arrived, n)
		done, attempts = done+n, attempts+int(e.queue.recorded.Load())
		e.verifyHistory(done, attempts)
		return rate
	})
	r.add(measured("deliveries/"+name, perSecond, values[1]...).against(values[0]).withTarget(">= 25%").
		noted("%d of 1 KB to one endpoint, all %d attempts recorded (%s in the last round); floor: the sender alone", n,
			attempts, e.queue.cost()))
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
	began := time.Now()
	inParallel(n, endpointInFlight, func(i int) {
		attempt := e.sender.Post(e.ctx, deliveries[i])
		verify(attempt.OK(), "posting: %s", attempt.Error)
	})
	return float64(n) / time.Since(began).Seconds()
}

// measurePublish publishes events one by one from many goroutines while they are delivered.
func measurePublish(r *run) {
	n, done := pick(r.Quick, 10000, 3000), 0
	e := r.openEngine("publish", webhook.Minutes)
	values := inTurn(pick(r.Quick, 3, 2), func() float64 { return e.insertAlone(n) }, func() float64 {
		rate := e.publishAndDeliver(n)
		done += n
		e.verifyHistory(done, done)
		return rate
	})
	r.add(measured("deliveries/publish", perSecond, values[1]...).against(values[0]).
		noted("%d events from %d goroutines, first publish to last arrival; floor: one INSERT a transaction", n,
			publishers))
}

// insertAlone stores n bodies in a transaction each, and returns how many a second.
func (e *engine) insertAlone(n int) float64 {
	e.execute(`DROP TABLE IF EXISTS floor; CREATE TABLE floor (id uuid PRIMARY KEY, body bytea NOT NULL)`)
	began := time.Now()
	inParallel(n, publishers, func(i int) {
		e.execute(`INSERT INTO floor VALUES (?, ?)`, core.NewID(time.Now()), payload(i))
	})
	return float64(n) / time.Since(began).Seconds()
}

// steady publishes events of each type at an even rate for the given seconds, after a first event. For each event of
// the first type it returns the milliseconds from the commit, and from the call, until the event arrived.
func (e *engine) steady(seconds int, types ...core.EventType) (after, whole []float64) {
	e.sink.reset(0)
	warm, n := eventsPerSecond*len(types), eventsPerSecond*len(types)*(seconds+1)
	e.start(n)
	defer e.halt()
	ids, began, returned := make([]string, n), make([]time.Time, n), make([]time.Time, n)
	atRate(e.ctx, float64(warm), n, func(i int) {
		event := e.event(i)
		event.Type, ids[i], began[i] = types[i%len(types)], event.ID.String(), time.Now()
		e.publish(event)
		returned[i] = time.Now()
	})
	came := byID(e.sink.await("/hook", n/len(types), 10*time.Second))
	for i := warm; i < n; i += len(types) {
		verify(came[ids[i]] != nil, "event %s did not arrive", ids[i])
		at := came[ids[i]][0].time()
		after = append(after, inMilliseconds(at.Sub(returned[i])))
		whole = append(whole, inMilliseconds(at.Sub(began[i])))
	}
	if len(types) == 1 {
		e.awaitRecorded(10 * time.Second)
	}
	return after, whole
}

// measureLatency publishes to an endpoint at an even rate.
func measureLatency(r *run) {
	e := r.openEngine("latency", webhook.Minutes)
	after, whole := e.steady(pick(r.Quick, 20, 5), core.OrderPlaced)
	r.add(measured("deliveries/latency median", milliseconds, percentile(after, 50)).withTarget("< 2 ms").
		noted("%d events at %d/s, commit to arrival; with the commit %.2f ms", len(after), eventsPerSecond,
			percentile(whole, 50)),
		measured("deliveries/latency p99", milliseconds, percentile(after, 99)).withTarget("< 10 ms").
			noted("at most %.2f ms; with the commit %.2f ms", percentile(after, 100), percentile(whole, 99)))
}

// measureNeighbour publishes to an endpoint, alone and beside one that never responds.
func measureNeighbour(r *run) {
	const inTime = time.Second
	e := r.openEngine("neighbour", webhook.Seconds)
	hubtest.Subscribe(r, e.db, e.business, core.OrderStatusUpdate, e.sink.at("", hangPath), webhook.Seconds)
	var alone, beside []float64
	hung, late := 0, 0
	for range pick(r.Quick, 2, 1) {
		after, _ := e.steady(pick(r.Quick, 12, 4), core.OrderPlaced)
		alone = append(alone, after...)
		after, _ = e.steady(pick(r.Quick, 15, 7), core.OrderPlaced, core.OrderStatusUpdate)
		beside = append(beside, after...)
		hung += len(e.sink.arrivals(hangPath))
		e.forgetQueue()
	}
	for _, after := range beside {
		if after > inMilliseconds(inTime) {
			late++
		}
	}
	r.add(measured("deliveries/neighbour p99", milliseconds, percentile(beside, 99)).
		against([]float64{percentile(alone, 99)}).withTarget("<= 2x, none late", late == 0).
		noted("%d events at %d/s, commit to arrival, beside as many to an endpoint that left %d attempts hanging; "+
			"%d took over %v, median %.2f ms, at most %.1f ms; floor: alone", len(beside), eventsPerSecond, hung, late,
			inTime, percentile(beside, 50), percentile(beside, 100)))
}

// measureRetry lets the first attempts of deliveries fail. The lateness of a retry is its arrival less the response
// before it less the wait.
func measureRetry(r *run) {
	const n = 100
	failures := pick(r.Quick, webhook.Seconds.Schedule().Attempts-1, 3)
	attempts := n * (failures + 1)
	e := r.openEngine("retry", webhook.Seconds)
	e.sink.reset(failures)
	e.start(attempts)
	inParallel(n, publishers, func(i int) { e.publish(e.event(i)) })
	e.awaitRecorded(50 * time.Second)
	e.verifyHistory(n, attempts)
	var late []float64
	for id, list := range byID(e.sink.arrivals("/hook")) {
		verify(len(list) == failures+1, "delivery %s arrived %d times, not %d", id, len(list), failures+1)
		slices.SortFunc(list, func(a, b Arrival) int { return int(a.At - b.At) })
		for i := 1; i < len(list); i++ {
			wait, _ := webhook.Seconds.Schedule().After(i)
			late = append(late, inMilliseconds(time.Duration(list[i].At-list[i-1].Answered)-wait))
		}
	}
	earliest := percentile(late, 0)
	r.add(measured("deliveries/retry p99", milliseconds, percentile(late, 99)).withTarget("< 100 ms").
		noted("lateness of %d retries of %d deliveries, units seconds; median %.2f ms", len(late), n, median(late)),
		measured("deliveries/retry max", milliseconds, percentile(late, 100)).withTarget("< 100 ms", earliest >= 0).
			noted("the earliest %.2f ms after due", earliest))
}

// measureReplicas delivers to a slow endpoint by one built hub and by two. The number of concurrent attempts at an
// endpoint is bounded. So waiting limits a hub, and not the processors that the database, load and endpoint share.
func measureReplicas(r *run) {
	n := pick(r.Quick, 2000, 800)
	e := r.openEngine("replicas", webhook.Seconds)
	hubtest.Subscribe(r, e.db, e.business, core.OrderStatusUpdate, e.sink.at("", slowPath), webhook.Seconds)
	through := func(hubs int) func() float64 {
		return func() float64 {
			for range hubs {
				defer e.startHub("SERVERY_ROLES=worker", "GOMAXPROCS=1").stop()
			}
			e.sink.reset(0)
			e.fill(n, func(i int) core.Event {
				event := e.event(i)
				event.Type = core.OrderStatusUpdate
				return event
			})
			list := e.sink.await(slowPath, n, time.Minute)
			return float64(n) / time.Duration(list[len(list)-1].Answered-list[0].At).Seconds()
		}
	}
	values := inTurn(pick(r.Quick, 3, 2), through(1), through(2))
	r.add(measured("replicas/two", perSecond, values[1]...).against(values[0]).withTarget(">= 160%").
		noted("%d deliveries to one endpoint that responds after %v, so that waiting and not the processor bounds a "+
			"replica; hubs of role worker with GOMAXPROCS=1; floor: one replica", n, slowResponse))
}

// crowd is an engine with a thousand endpoints on separate hosts. Each of a hundred businesses has one for each of ten
// event types. The last of each business can be unreachable.
type crowd struct {
	*engine
	members []webhook.Subscription
}

const (
	crowdBusinesses = 100
	crowdEvents     = 10
)

func (r *run) openCrowd(name string) *crowd {
	c := &crowd{engine: r.openEngine(name, webhook.Seconds)}
	c.sink.spread(crowdBusinesses * crowdEvents)
	for range crowdBusinesses {
		business := hubtest.Business(r, c.db).ID
		for _, event := range core.EventTypes()[:crowdEvents] {
			url := c.sink.at(spreadAddress(len(c.members)), "/hook")
			c.members = append(c.members, hubtest.Subscribe(r, c.db, business, event, url, webhook.Seconds))
		}
	}
	return c
}

// fill stores n events, spread evenly over the first endpoints.
func (c *crowd) fill(n, endpoints int) {
	c.engine.fill(n, func(i int) core.Event {
		event, to := c.event(i), c.members[i%endpoints]
		event.Business, event.Type = to.Business, to.EventType
		return event
	})
}

// change makes the tenth of the endpoints dead or alive. Half of the dead hang. The others refuse connections, since
// nothing listens at their hosts.
func (c *crowd) change(dead bool) {
	for i := crowdEvents - 1; i < len(c.members); i += crowdEvents {
		host, path := spreadAddress(i), "/mortal"
		switch {
		case dead && i/crowdEvents%2 == 0:
			host = "127.2" + host[len("127.1"):]
		case dead:
			path = hangPath
		}
		c.execute(`UPDATE webhooks SET url = ?, version = version + 1 WHERE id = ?`, c.sink.at(host, path),
			c.members[i].ID)
	}
}

// round queues so many deliveries for each endpoint, and returns how many a second those got that are always alive.
func (c *crowd) round(each int, dead bool) float64 {
	all := each * len(c.members)
	alive := all - each*crowdBusinesses
	c.change(dead)
	c.fill(all, len(c.members))
	c.sink.reset(0)
	began := time.Now()
	c.start(all)
	defer c.forgetQueue()
	defer c.halt()
	list := c.sink.await("/hook", alive, time.Minute)
	if !dead {
		c.awaitRecorded(20 * time.Second)
	}
	distinct := len(byID(list))
	verify(distinct == alive, "%d deliveries reached the endpoints that are alive, not %d", distinct, alive)
	return rate(list, began)
}

// measureThousand delivers to a thousand endpoints, with and without a dead tenth. The others have the same to do.
func measureThousand(r *run) {
	each := pick(r.Quick, 60, 20)
	c := r.openCrowd("thousand")
	c.round(2, false) // connections, statements, statistics
	hung, failed, costs := 0, 0, [2]string{}
	failures := func() int { return c.count(`SELECT count(*) FROM attempts WHERE error_class <> ''`) }
	values := inTurn(pick(r.Quick, 2, 1), func() float64 {
		rate := c.round(each, false)
		costs[0] = c.queue.cost()
		return rate
	}, func() float64 {
		before := failures()
		rate := c.round(each, true)
		hung, failed, costs[1] = len(c.sink.arrivals(hangPath)), failures()-before, c.queue.cost()
		return rate
	})
	r.add(measured("deliveries/thousand endpoints", perSecond, values[1]...).against(values[0]).withTarget(">= 95%").
		noted("%d due at each of %d endpoints, a tenth dead: half refuse, half hang (%d failed attempts recorded in "+
			"the last round, %d left hanging; %s); what the other nine tenths got; floor: the same with that tenth "+
			"alive (%s)", each, len(c.members), failed, hung, costs[1], costs[0]))
}

// measureEndpointGrowth drains the same number of deliveries to ever more endpoints. The first round does not count.
func measureEndpointGrowth(r *run) {
	c, n := r.openCrowd("endpointgrowth"), pick(r.Quick, 10000, 3000)
	counts := []int{1, 10, 100, 1000}
	var parts []func() float64
	for _, endpoints := range counts {
		parts = append(parts, func() float64 {
			c.fill(n, endpoints)
			return c.drain(n)
		})
	}
	rates := inTurn(1+pick(r.Quick, 3, 1), parts...)
	for i, endpoints := range counts {
		grown := measured(fmt.Sprintf("deliveries/endpoints %d", endpoints), perSecond, rates[i][1:]...).at(endpoints).
			noted("%d due, delivered and recorded", n)
		if i == len(counts)-1 {
			grown = grown.against(rates[0][1:])
		}
		r.add(grown)
	}
}
