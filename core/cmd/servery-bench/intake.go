package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/procfs"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/menu"
)

// turn is one of the requests of a round, and what it changes.
type turn struct {
	name                   string
	body                   []byte
	created, updated       int
	rows                   [][]byte  // that the hub stored
	jobs, floors, recorded []float64 // milliseconds of the rounds
}

// intake posts the requests of a round to a new business, each beside the floor. The floor decodes the body and writes
// the rows that the hub stored. The first round does not count.
func (f *fixture) intake(path, country string, requests []turn, floor *copyFloor, decode func([]byte)) (
	accept []float64) {
	for round := range 1 + pick(f.Quick, 7, 3) {
		who, beside := f.business(country), f.business(country)
		for i := range requests {
			t := &requests[i]
			if round == 0 {
				f.post(who, path, t.body, t.created, t.updated)
				t.rows = floor.stored(who.ID)
				floor.write(beside.ID, t.rows)
				continue
			}
			t.floors = append(t.floors, timed(func() {
				decode(t.body)
				floor.write(beside.ID, t.rows)
			}))
			journey := f.post(who, path, t.body, t.created, t.updated)
			accept, t.jobs = append(accept, journey.accept), append(t.jobs, journey.job)
			t.recorded = append(t.recorded, journey.recorded)
		}
	}
	return accept
}

// figure compares the jobs with the floor.
func (t turn) figure(name, target string) figure {
	return measured(name+t.name, milliseconds, t.jobs...).against(t.floors).withTarget(target)
}

// measureStores posts a full request twice.
func measureStores(r *run) {
	body, origin := storeRequest(r.Stores, mostStores)
	f := r.openHub("stores")
	requests := []turn{{name: "created", body: body, created: mostStores},
		{name: "updated", body: body, updated: mostStores}}
	floor := f.copyFloor(floorTable{name: "stores", key: "ref_id"})
	accept := f.intake(storesPath, "US", requests, floor, func([]byte) {})
	r.add(measured("stores/accept", milliseconds, accept...).withTarget("< 150 ms").
		noted("%d %s stores, %.1f MB, POST to response", mostStores, origin, float64(len(body))/1e6),
		requests[0].figure("stores/job ", "<= 3x").noted("response to the callback at the sink; floor: COPY and merge"),
		requests[1].figure("stores/job ", "<= 3x").
			noted("the same rows again; the hub held %.0f MB at most", f.hub.peak()))
}

// measureMenu posts a full menu, the same again, and one with a hundredth changed.
func measureMenu(r *run) {
	rows, origin := wholeMenu(r.Menu)
	f := r.openHub("menu")
	body, n := encode(rows), rows.size()
	rules := menu.IngestPolicy{Vocabulary: must(menu.NewVocabulary())}.RulesFor(core.Business{Country: "IN"})
	requests := []turn{{name: "first", body: body, created: n}, {name: "unchanged", body: body, updated: n},
		{name: "1% changed", body: encode(rows.changed(1)), updated: n}}
	accept := f.intake(masterPath, "IN", requests, f.copyFloor(floorTable{name: "catalogue_entities",
		key: "kind, name"},
		floorTable{name: "menu_links", key: "relation, from_id, to_id"}),
		func(body []byte) { must(menu.Decode(body, menu.MasterScope(), rules)) })
	r.add(measured("menu/accept", milliseconds, accept...).withTarget("< 300 ms").
		noted("%s, %s, %.1f MB, POST to response", origin, rows.shape(), float64(len(body))/1e6))
	for _, request := range requests {
		r.add(request.figure("menu/job ", "<= 2.5x").noted("response to the callback at the sink (arrival to the "+
			"job's end %.0f ms); floor: decode, COPY and merge", median(request.recorded)))
	}
	r.add(measured("menu/memory", megabytes, f.hub.peak()).withTarget("< 400 MB").
		noted("resident at most, over the requests above"))
}

// sized is a request of a growing size.
type sized struct {
	size, objects int
	body          []byte
	note          string
}

// grow posts ever larger requests to fresh businesses, and adds the cost of an object in each. The largest is compared
// with that in the middle. The first round does not count.
func (f *fixture) grow(name, path, country string, requests []sized) {
	jobs, costs := make([][]float64, len(requests)), make([][]float64, len(requests))
	for round := range 1 + pick(f.Quick, 7, 3) {
		for i, request := range requests {
			job := f.post(f.business(country), path, request.body, request.objects, 0).job
			if round > 0 {
				jobs[i], costs[i] = append(jobs[i], job), append(costs[i], 1000*job/float64(request.objects))
			}
		}
	}
	for i, request := range requests {
		grown := measured(fmt.Sprintf("%s %d", name, request.size), microseconds, costs[i]...).at(request.size).
			noted("%s, in %.1f ms", request.note, median(jobs[i]))
		if middle := len(requests) / 2; i == len(requests)-1 {
			grown = grown.against(costs[middle]).withTarget("<= 1.5x")
			grown.Note += fmt.Sprintf("; floor: %s %d", name, requests[middle].size)
		}
		f.add(grown)
	}
}

func measureStoreGrowth(r *run) {
	var requests []sized
	for _, n := range []int{50, 200, 800, 2000, mostStores} {
		body, _ := storeRequest(r.Stores, n)
		requests = append(requests, sized{n, n, body, "a store, response to the callback at the sink"})
	}
	r.openHub("storegrowth").grow("stores/growth", storesPath, "US", requests)
}

func measureMenuGrowth(r *run) {
	var requests []sized
	for _, size := range []int{100, 400, 1600, 6000, 12000} {
		rows := generatedMenu(size)
		requests = append(requests, sized{size, rows.size(), encode(rows), fmt.Sprintf(
			"an object; %d objects, %d of them items and options", rows.size(), rows.sold().size())})
	}
	r.openHub("menugrowth").grow("menu/growth", masterPath, "IN", requests)
}

// eventsPerSecond is the rate at which latency is measured.
const eventsPerSecond = 50

// measureCallbackLatency posts requests of one store at an even rate.
func measureCallbackLatency(r *run) {
	warm, n := eventsPerSecond, eventsPerSecond*pick(r.Quick, 20, 5)
	f := r.openHub("callback")
	who := f.business("US")
	f.sink.reset(0)
	taken := make([]accepted, warm+n)
	atRate(r.ctx, eventsPerSecond, warm+n, func(i int) {
		taken[i] = f.submit(who, storesPath,
			fmt.Appendf(nil, `{"stores":[{"ref_id":"S-%d","name":"Harbour Street %d","city":"Oakland"}]}`, i, i))
	})
	came := map[string]Arrival{}
	for _, a := range f.sink.await("/hook", warm+n, 10*time.Second) {
		const begins = len(`{"reference":"`)
		verify(len(a.Head) == headBytes, "a callback without a reference: %s", a.Head)
		came[a.Head[begins:begins+len(taken[0].Reference)]] = a
	}
	var whole, after []float64
	for _, request := range taken[warm:] {
		callback, found := came[request.Reference]
		verify(found, "the callback of %s did not arrive", request.Reference)
		whole = append(whole, inMilliseconds(callback.time().Sub(request.sent)))
		after = append(after, inMilliseconds(callback.time().Sub(request.responded)))
	}
	r.add(measured("stores/callback median", milliseconds, percentile(whole, 50)).
		noted("%d requests of one store at %d/s, POST to callback; from the response %.2f ms", n, eventsPerSecond,
			percentile(after, 50)),
		measured("stores/callback p99", milliseconds, percentile(whole, 99)).
			noted("at most %.2f ms; from the response %.2f ms", percentile(whole, 100), percentile(after, 99)))
}

// measureIdle measures the built hub without any request.
func measureIdle(r *run) {
	settled, span := pick(r.Quick, 10*time.Second, 4*time.Second), pick(r.Quick, 20*time.Second, 6*time.Second)
	h := r.openHub("idle").hub
	r.pause(time.Until(h.began.Add(settled)))
	memory, process := h.resident(), must(procfs.NewProc(h.process.Process.Pid))
	before := must(process.Stat()).CPUTime()
	r.pause(span)
	used := must(process.Stat()).CPUTime() - before
	r.add(measured("idle/memory", megabytes, memory).withTarget("< 80 MB").noted("resident %v after the start", settled),
		measured("idle/cpu", percent, 100*used/span.Seconds()).withTarget("< 1%").
			noted("of a core, over %v", span))
}

// storeItems is how many items each store of a chain sells.
const storeItems = 500

// chain is a business with a menu and stores.
type chain struct {
	*fixture
	who    hubtest.Tenant
	stores []string // ref_ids of those that were posted
}

// chain creates a business with n stores.
func (f *fixture) chain(n int) *chain {
	c := &chain{fixture: f, who: f.business("IN"), stores: make([]string, n)}
	stores := generate(n, func(i int) object {
		c.stores[i] = fmt.Sprintf("S-%d", i)
		return object{"ref_id": c.stores[i], "name": "Harbour Street " + c.stores[i], "city": "Pune"}
	})
	f.post(c.who, storesPath, encode(object{"stores": stores}), n, 0)
	return c
}

// fill adds n stores that sell what the last store of the chain sells.
func (c *chain) fill(n int) {
	pattern := c.stores[len(c.stores)-1]
	for _, statement := range []string{
		`INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active, ordering_enabled, created_at,
			updated_at)
		SELECT business_id, nextval('store_ids'), 'other-' || n, city, name, hide_from_ui, active, ordering_enabled,
			created_at, updated_at
		FROM stores, generate_series(1, ?2) n WHERE business_id = ?0 AND ref_id = ?1`,
		`INSERT INTO store_overrides (business_id, store_id, kind, id, content)
		SELECT a.business_id, other.id, a.kind, a.id, a.content FROM stores s
		JOIN store_overrides a ON a.business_id = s.business_id AND a.store_id = s.id
		JOIN stores other ON other.business_id = s.business_id AND other.ref_id LIKE 'other-%'
		WHERE s.business_id = ?0 AND s.ref_id = ?1 ORDER BY other.id, a.kind, a.id`,
		`INSERT INTO menu_versions (business_id, store_id, version)
		SELECT business_id, id, 1 FROM stores WHERE business_id = ?0 AND ref_id LIKE 'other-%'`,
	} {
		c.execute(statement, c.who.ID, pattern, n)
	}
	stored := c.count(`SELECT count(*) FROM store_overrides WHERE business_id = ?`, c.who.ID)
	verify(stored >= n*storeItems, "only %d references are stored", stored)
	c.execute(`VACUUM (ANALYZE) store_overrides`) // as upkeep does after a while
	c.execute(`CHECKPOINT`)
}

// measureMenuIndependence posts the same requests to a chain of thousands of stores and to one without them.
func measureMenuIndependence(r *run) {
	menu, _ := wholeMenu(r.Menu)
	rounds, others := pick(r.Quick, 7, 3), pick(r.Quick, 2500, 250)
	some := encode(menuObjects{"items": menu["items"][:storeItems]})
	requests := func(name string, others int) (atStore, master func() float64) {
		c := r.openHub(name).chain(rounds + 1)
		c.post(c.who, masterPath, encode(menu), menu.size(), 0)
		sold, changes := 0, 0
		atStore = func() float64 {
			sold++
			return c.post(c.who, menuPath(c.stores[len(c.stores)-sold]), some, 0, storeItems).job
		}
		master = func() float64 {
			changes++
			return c.post(c.who, masterPath, encode(menu.changed(changes)), 0, menu.size()).job
		}
		atStore()
		master()
		if others > 0 {
			c.fill(others)
		}
		return atStore, master
	}
	storeOfFew, masterOfFew := requests("menuempty", 0)
	storeOfMany, masterOfMany := requests("menufull", others)
	atStore := inTurn(rounds, storeOfFew, storeOfMany)
	master := inTurn(rounds, masterOfFew, masterOfMany)
	note := fmt.Sprintf("response to the callback with %d stores of %d items each; floor: the same without them",
		others, storeItems)
	r.add(measured("menu/independence store", milliseconds, atStore[1]...).against(atStore[0]).withTarget("<= 1.3x").
		noted("%d items at one store, %s", storeItems, note),
		measured("menu/independence master", milliseconds, master[1]...).against(master[0]).withTarget("<= 1.3x").
			noted("%s, 1%% changed, %s", menu.shape(), note))
}

// measureMenuEffective reads the effective menu of a store that sells the whole menu, with and without its ETag.
func measureMenuEffective(r *run) {
	menu, _ := wholeMenu(r.Menu)
	c := r.openHub("menueffective").chain(1)
	c.post(c.who, masterPath, encode(menu), menu.size(), 0)
	c.post(c.who, menuPath(c.stores[0]), encode(menu.sold()), 0, menu.sold().size())
	var body bytes.Buffer
	read := func(tag string, status int) (took float64, response *http.Response) {
		request := c.request("/channel/api/v1/stores/"+c.stores[0]+"/menu/?platform=web", c.who.Authorization, nil)
		if tag != "" {
			request.Header.Set("If-None-Match", tag)
		}
		body.Reset()
		took = timed(func() { response = c.hub.do(request, &body) })
		verify(response.StatusCode == status, "the effective menu: %s, not %d", response.Status, status)
		return took, response
	}
	_, response := read("", http.StatusOK)
	var seen struct{ Items, Options []struct{} }
	check(json.Unmarshal(body.Bytes(), &seen))
	verify(len(seen.Items) == len(menu["items"]) && len(seen.Options) == len(menu["options"]),
		"%d items and %d options are visible, not %s", len(seen.Items), len(seen.Options), menu.shape())
	size, uncached, same := body.Len(), make([]float64, pick(r.Quick, 40, 20)), make([]float64, pick(r.Quick, 400, 200))
	for i := range uncached {
		uncached[i], _ = read("", http.StatusOK)
	}
	for i := range same {
		same[i], _ = read(response.Header.Get("ETag"), http.StatusNotModified)
	}
	r.add(measured("menu/effective uncached", milliseconds, uncached...).withTarget("< 100 ms").
		noted("median of %d, request to the end of %.1f MB; at least %.1f ms", len(uncached), float64(size)/1e6,
			percentile(uncached, 0)),
		measured("menu/effective 304", milliseconds, same...).withTarget("< 2 ms").
			noted("median of %d, with If-None-Match; p99 %.2f ms", len(same), percentile(same, 99)))
}
