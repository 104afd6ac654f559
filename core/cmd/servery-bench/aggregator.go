package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/internal/sandbox"
)

// simulated is the platform whose API the sink simulates.
const simulated = "aggregator-b"

// simulateAggregator makes the sink the aggregator of a business.
func (f *fixture) simulateAggregator(business core.BusinessID) {
	check(sandbox.Setup(f.ctx, f.db, business, []string{simulated}, strings.TrimSuffix(f.sink.url, "/hook")))
}

// publisher is a chain whose stores are listed at the aggregator, and another business that sends menus beside it.
type publisher struct {
	*client
	count  int // of stores
	beside *client
	prices int // changes of the prices so far
	jobs   int // requests of the other business so far
}

// publisher creates the businesses. Every store has been published once then.
func (f *fixture) publisher(stores int) *publisher {
	p := &publisher{client: f.chain(1), count: stores, beside: f.business("IN")}
	f.simulateAggregator(p.ID)
	p.post(masterPath, p.menu(), storeItems, 0)
	p.post(menuPath(storeRef(0)), requests.Items(storeItems, requests.Object{"price": 4.5}), 0, storeItems)
	p.fill(stores-1, storeRef(0))
	f.execute(`UPDATE stores SET excluded_platforms = '{}' WHERE business_id = ?`, p.ID)
	p.beside.post(masterPath, requests.Items(checkedItems, requests.Object{"price": 0.5}), checkedItems, 0)
	p.publish()
	return p
}

// menu is the items of the business at prices that the aggregator has not had yet.
func (p *publisher) menu() []byte {
	p.prices++
	return requests.Items(storeItems, requests.Object{"price": 4.5, "description": "Slow-cooked and served with rice",
		"platform_pricing": []requests.Object{{"platform": simulated, "price": float64(p.prices) + 0.25}}})
}

// job changes a menu of the other business, and returns how many milliseconds that took.
func (p *publisher) job() float64 {
	p.jobs++
	taken := p.beside.submit(masterPath, requests.Items(checkedItems, requests.Object{"price": float64(p.jobs)}))
	p.untilCount(1, `SELECT count(*) FROM jobs WHERE business_id = ? AND id = ? AND state = 'done'`, p.beside.ID,
		taken.key)
	return p.beside.outcome(taken.key, 0, checkedItems)
}

// publish changes the prices, and lets the other business send menus until most stores' menus have arrived. It returns
// the menus that arrived, and how long the jobs took.
func (p *publisher) publish() (came []Arrival, jobs []float64) {
	p.sink.reset(0)
	p.submit(masterPath, p.menu())
	p.until(2*time.Minute, "the menus are published", func() bool {
		came = p.sink.arrivals("/catalogue")
		if len(came) > 0 && len(came) < p.count*4/5 {
			jobs = append(jobs, p.job())
		}
		return len(came) >= p.count
	})
	p.verifyCount(0, `SELECT count(*) FROM publications WHERE business_id = ? AND state = 'failed'`, p.ID)
	verify(len(came) == p.count && len(jobs) > 0, "%d menus arrived, and %d jobs meanwhile", len(came), len(jobs))
	return came, jobs
}

// measurePublishMenus changes the prices of all items, and publishes the menus of all stores.
func measurePublishMenus(r *run) {
	p, size := r.openHub().publisher(pick(r.Quick, 500, 100)), 0
	var rates, floors, alone, beside []float64
	for range pick(r.Quick, 3, 2) {
		for range pick(r.Quick, 3, 2) {
			alone = append(alone, p.job())
		}
		came, jobs := p.publish()
		size = came[0].Size
		floors = append(floors, throughput(len(came), 1, func(i int) {
			body := bytes.NewReader(make([]byte, came[i].Size))
			check(must(p.http.Post(p.sink.at("", "/floor"), "", body)).Body.Close())
		}))
		rates, beside = append(rates, rate(came[1:], came[0].At)), append(beside, figures.Median(jobs))
	}
	r.add("publish/menus", rates...).Against(floors).Noted(storeItems, p.count, size>>10)
	r.add("publish/beside", figures.Median(beside)).Against([]float64{figures.Median(alone)}).Noted(checkedItems)
}

// measureToggles toggles items of a store while the menus of all stores are published. It also lets thousands of
// stores become due to open in the same second.
func measureToggles(r *run) {
	const items = 400
	f, stores := r.openHub(), pick(r.Quick, 2500, 500)
	late := inTurn(pick(r.Quick, 3, 2), func() float64 { return f.openTogether(stores) })[0]
	p := f.publisher(pick(r.Quick, 300, 100))
	var took []float64
	for n := range pick(r.Quick, 60, 20) {
		if n%5 == 0 { // the menus of all stores are due a moment later, and take longer than five requests
			p.submit(masterPath, p.menu())
		}
		p.sink.reset(0)
		posted := p.submit("/hub/api/v1/items/", requests.Encode(requests.Object{"location_ref_id": storeRef(0),
			"item_ref_ids": requests.ItemRefs(0, items), "action": []string{"disable", "enable"}[n%2]}))
		arrival := p.sink.await("/stock", 1, 20*time.Second)[0]
		took = append(took, inMilliseconds(arrival.At.Sub(posted.began)))
	}
	r.add("toggles/items", figures.Percentile(took, 50)).Noted(items, p.count)
	r.add("toggles/items p99", figures.Percentile(took, 99)).Noted(len(took))
	r.add("toggles/stores", late...).Noted(stores)
}

// openTogether makes all stores of a business due to open at one time. It returns the milliseconds from then until the
// last is open at the aggregator.
func (f *fixture) openTogether(n int) float64 {
	who := f.chain(n)
	f.simulateAggregator(who.ID)
	f.sink.reset(0)
	due := time.Now().Add(2 * time.Second)
	f.execute(queries.With("closed_stores", postgres.Args{"business": who.ID, "platform": simulated, "until": due}))
	check(postgres.Notify(f.ctx, f.sql, availability.TimerChannel)) // as a request does
	list := f.sink.await("/opening", n, 32*time.Second)
	opened := map[string]bool{}
	for _, a := range list {
		opened[a.Path] = true
	}
	verify(len(opened) == n, "%d of %d stores were opened", len(opened), n)
	return inMilliseconds(lastOf(list).Sub(due))
}

const (
	riderOrders = 200
	statusRate  = 1000 // a second
)

// riderStates are the statuses that follow each other, and the aggregator's names of them.
var riderStates = [][2]string{{"AT-STORE", "rider_at_store"}, {"OUT-FOR-DELIVERY", "picked_up"},
	{"RIDER-REACHED", "rider_at_customer"}}

// riders posts the statuses and locations of riders. Each rider has one order of the aggregator.
type riders struct {
	*fixture
	orders              []int64
	statuses, locations *poster
}

func (f *fixture) riders() *riders {
	who, api := f.chain(1), f.hub.URL+"/ext/api/v1/generic/pos/rider-"
	f.simulateAggregator(who.ID)
	r := &riders{f, nil, f.newPoster(api+"status/", who.Authorization),
		f.newPoster(api+"location/", who.Authorization)}
	f.sink.reset(0)
	key := hubtest.ChannelKey(f, f.db, who.ID, "")
	for i := range riderOrders {
		f.send(ordersPath, key, fmt.Appendf(nil, `{"platform":%q,"platform_order_id":"R-%d",
			"store_ref_id":%q,"delivery_type":"self","items":[{"ref_id":"dal","title":"Dal","quantity":1,"price":5}]}`,
			simulated, i, storeRef(0)))
	}
	check(f.sql.NewRaw(`SELECT id FROM orders WHERE business_id = ?`, who.ID).Scan(f.ctx, &r.orders))
	inParallel(riderOrders, 8, func(i int) {
		r.statuses.post(fmt.Appendf(nil, `{"order_id":%d,"status":"ASSIGNED",
			"rider_data":{"rider_name":"Asha","rider_phone_number":"4155550100"}}`, r.orders[i]))
	})
	f.sink.await("/delivery-state", riderOrders, 20*time.Second)
	return r
}

// measureRiders posts locations as fast as possible, and statuses at an even rate.
func measureRiders(r *run) {
	all := r.openHub().riders()
	n, relayed := pick(r.Quick, 20000, 4000), 0
	rates := inTurn(pick(r.Quick, 4, 2), func() float64 {
		all.sink.reset(0)
		rate := throughput(n, connections, func(i int) {
			const body = `{"order_id":%d,"location":{"latitude":"37.%06d","longitude":"-122.4"}}`
			all.locations.post(fmt.Appendf(nil, body, all.orders[i%riderOrders], i))
		})
		relayed += len(all.sink.await("/rider-position", riderOrders, 20*time.Second))
		return rate
	})[0]
	r.add("riders/locations", rates...).Noted(connections, riderOrders, n*len(rates), relayed)
	all.measureStatuses(pick(r.Quick, 12000, 3000))
}

func (r *riders) measureStatuses(n int) {
	r.sink.reset(0)
	var next [riderOrders]struct {
		sync.Mutex
		state int
	}
	began := time.Now()
	r.atRate(statusRate, n, func(i int) {
		order := &next[i%riderOrders]
		order.Lock()
		defer order.Unlock()
		status := riderStates[order.state%len(riderStates)][0]
		order.state++
		r.statuses.post(fmt.Appendf(nil, `{"order_id":%d,"status":%q}`, r.orders[i%riderOrders], status))
	})
	list := r.sink.await("/delivery-state", n, 30*time.Second)
	wrong, seen := 0, map[string]int{}
	for _, a := range list {
		if !strings.Contains(a.Head, `"`+riderStates[seen[a.Path]%len(riderStates)][1]+`"`) {
			wrong++
		}
		seen[a.Path]++
	}
	r.add("riders/statuses", rate(list, began)).Provided(wrong == 0).Noted(n, statusRate, riderOrders, wrong)
}
