package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/menu"
)

// turn is one of the requests of a round, and what it changes.
type turn struct {
	figure           string
	body             []byte
	created, updated int
	rows             [][]byte  // that the hub stored
	jobs, floors     []float64 // milliseconds of the rounds
}

// intake posts the requests of a round to a new business, each beside the floor. The floor decodes the body and writes
// the rows that the hub stored. The first round does not count.
func (f *fixture) intake(path, country string, turns []turn, floor *copyFloor, decode func([]byte)) (accept []float64) {
	for round := range 1 + pick(f.Quick, 7, 3) {
		who, beside := f.business(country), f.business(country)
		for i := range turns {
			t := &turns[i]
			if round == 0 {
				who.post(path, t.body, t.created, t.updated)
				t.rows = floor.stored(who.ID)
				floor.write(beside.ID, t.rows)
				continue
			}
			t.floors = append(t.floors, timed(func() {
				decode(t.body)
				floor.write(beside.ID, t.rows)
			}))
			journey := who.post(path, t.body, t.created, t.updated)
			accept, t.jobs = append(accept, journey.accept), append(t.jobs, journey.job)
		}
	}
	for _, t := range turns {
		f.add(t.figure, t.jobs...).Against(t.floors)
	}
	return accept
}

// measureStores posts a full request twice.
func measureStores(r *run) {
	body := must(requests.Stores(r.Stores, requests.MaxStores))
	f := r.openHub()
	accept := f.intake(storesPath, "US", []turn{{figure: "stores/job created", body: body, created: requests.MaxStores},
		{figure: "stores/job updated", body: body, updated: requests.MaxStores}},
		f.copyFloor(floorTable{name: "stores", key: "ref_id"}), func([]byte) {})
	r.add("stores/accept", accept...).Noted(requests.MaxStores, cmp.Or(r.Stores, "generated"), float64(len(body))/1e6)
	r.figures["stores/job updated"].Noted(peak(f.hub))
}

// measureMenu posts a full menu, the same again, and one with a hundredth changed.
func measureMenu(r *run) {
	rows := must(requests.WholeMenu(r.Menu))
	f, body, n := r.openHub(), requests.Encode(rows), rows.Size()
	rules := menu.IngestPolicy{Vocabulary: must(menu.NewVocabulary())}.RulesFor(core.Business{Country: "IN"})
	accept := f.intake(masterPath, "IN", []turn{{figure: "menu/job first", body: body, created: n},
		{figure: "menu/job unchanged", body: body, updated: n},
		{figure: "menu/job 1% changed", body: requests.Encode(rows.Changed(1)), updated: n}},
		f.copyFloor(floorTable{name: "catalogue_entities", key: "kind, name"},
			floorTable{name: "menu_links", key: "relation, from_id, to_id"}),
		func(body []byte) { must(menu.Decode(body, menu.MasterScope(), rules)) })
	r.add("menu/accept", accept...).Noted(cmp.Or(r.Menu, "generated"), rows, float64(len(body))/1e6)
	r.add("menu/memory", peak(f.hub))
}

func measureStoreGrowth(r *run) {
	r.openHub().growRequests(storesPath, "US", func(n int) ([]byte, int) {
		return must(requests.Stores(r.Stores, n)), n
	})
}

func measureMenuGrowth(r *run) {
	r.openHub().growRequests(masterPath, "IN", func(n int) ([]byte, int) {
		rows := requests.NewMenu(n)
		return requests.Encode(rows), rows.Size()
	})
}

// growRequests posts ever larger requests to fresh businesses, and adds the cost of an object in each.
func (f *fixture) growRequests(path, country string, request func(size int) (body []byte, objects int)) {
	var counts []int
	for i, figure := range f.grow(2, pick(f.Quick, 7, 3), func(size int) func() float64 {
		body, objects := request(size)
		counts = append(counts, objects)
		return func() float64 {
			return 1000 * f.business(country).post(path, body, objects, 0).job / float64(objects)
		}
	}) {
		figure.Noted(counts[i], figure.Measured*float64(counts[i])/1000)
	}
}

// measureCallbackLatency posts requests of one store at an even rate.
func measureCallbackLatency(r *run) {
	warm, n := eventsPerSecond, eventsPerSecond*pick(r.Quick, 20, 5)
	f := r.openHub()
	who := f.business("US")
	f.sink.reset(0)
	all := r.sendAtRate(eventsPerSecond, warm+n, func(i int) string {
		return who.submit(storesPath, fmt.Appendf(nil,
			`{"stores":[{"ref_id":"S-%d","name":"Harbour Street %d","city":"Oakland"}]}`, i, i)).key
	})
	came := map[string][]Arrival{}
	for _, a := range f.sink.await("/hook", warm+n, 10*time.Second) {
		const begins = len(`{"reference":"`)
		verify(len(a.Head) == headBytes, "a callback without a reference: %s", a.Head)
		reference := a.Head[begins : begins+len(all[0].key)]
		came[reference] = append(came[reference], a)
	}
	whole, after := latencies(all[warm:], came)
	r.add("stores/callback median", figures.Median(whole)).Noted(n, eventsPerSecond, figures.Median(after))
	r.add("stores/callback p99", figures.Percentile(whole, 99)).Noted(slices.Max(whole), figures.Percentile(after, 99))
}

// measureIdle measures the built hub without any request.
func measureIdle(r *run) {
	settled, span := pick(r.Quick, 10*time.Second, 4*time.Second), pick(r.Quick, 20*time.Second, 6*time.Second)
	h := r.openHub().hub
	r.pause(time.Until(h.Began.Add(settled)))
	memory, process := resident(h), must(procfs.NewProc(h.PID()))
	before := must(process.Stat()).CPUTime()
	r.pause(span)
	r.add("idle/memory", memory).Noted(settled)
	r.add("idle/cpu", 100*(must(process.Stat()).CPUTime()-before)/span.Seconds()).Noted(span)
}

// measureIdleStatements counts the statements of a hub with plugins, without any request.
func measureIdleStatements(r *run) {
	settled, span := 15*time.Second, pick(r.Quick, 2*time.Minute, 30*time.Second)
	f := r.open()
	must(r.admin.Bun().ExecContext(r.ctx, `ALTER DATABASE ? SET log_statement = 'all'`, bun.Ident(f.database)))
	h := f.startHub("SERVERY_PLUGIN_DIR", must(filepath.Abs(filepath.Join(filepath.Dir(r.Hub), "plugins"))))
	r.pause(time.Until(h.Began.Add(settled)))
	before, began := f.loggedStatements(), time.Now()
	verify(before > 0, "the database logs no statements")
	r.pause(span)
	rate := float64(f.loggedStatements()-before) / time.Since(began).Seconds()
	r.add("idle/statements", rate).Noted(len(pluginIDs), span)
}

// loggedStatements is the number of statements in the log of the database.
func (f *fixture) loggedStatements() int {
	log := must(os.ReadFile(f.server.Cluster() + ".log"))
	return bytes.Count(log, []byte("LOG:  statement: ")) + bytes.Count(log, []byte("LOG:  execute "))
}

const storeItems = 500 // that each store of a chain sells

func storeRef(i int) string { return fmt.Sprintf("S-%d", i) }

// chain creates a business with n stores.
func (f *fixture) chain(n int) *client {
	c := f.business("IN")
	stores := requests.List(n, func(i int) requests.Object {
		return requests.Object{"ref_id": storeRef(i), "name": "Harbour Street", "city": "Pune"}
	})
	c.post(storesPath, requests.Encode(requests.Object{"stores": stores}), n, 0)
	return c
}

// fill adds n stores that sell what a store of the chain sells.
func (c *client) fill(n int, pattern string) {
	c.execute(queries.With("other_stores", postgres.Args{"business": c.ID, "pattern": pattern, "n": n}))
	stored := c.count(`SELECT count(*) FROM store_overrides WHERE business_id = ?`, c.ID)
	verify(stored >= n*storeItems, "only %d references are stored", stored)
	c.execute(`VACUUM (ANALYZE) store_overrides`) // as upkeep does after a while
	c.execute(`CHECKPOINT`)
}

// measureMenuIndependence posts the same requests to a chain of thousands of stores and to one without them.
func measureMenuIndependence(r *run) {
	menu := must(requests.WholeMenu(r.Menu))
	rounds, others := pick(r.Quick, 7, 3), pick(r.Quick, 2500, 250)
	some := requests.Encode(requests.Menu{"items": menu["items"][:storeItems]})
	posts := func(others int) (atStore, master func() float64) {
		c := r.openHub().chain(rounds + 1)
		c.post(masterPath, requests.Encode(menu), menu.Size(), 0)
		sold, changes := 0, 0
		atStore = func() float64 {
			sold++
			return c.post(menuPath(storeRef(sold-1)), some, 0, storeItems).job
		}
		master = func() float64 {
			changes++
			return c.post(masterPath, requests.Encode(menu.Changed(changes)), 0, menu.Size()).job
		}
		atStore()
		master()
		if others > 0 {
			c.fill(others, storeRef(0))
		}
		return atStore, master
	}
	storeOfFew, masterOfFew := posts(0)
	storeOfMany, masterOfMany := posts(others)
	r.alternate("menu/independence store", rounds, storeOfFew, storeOfMany).Noted(storeItems, others, storeItems)
	r.alternate("menu/independence master", rounds, masterOfFew, masterOfMany).Noted(menu, others, storeItems)
}

// measureMenuEffective reads the effective menu of a store that sells the whole menu, with and without its ETag.
func measureMenuEffective(r *run) {
	menu := must(requests.WholeMenu(r.Menu))
	c := r.openHub().chain(1)
	c.post(masterPath, requests.Encode(menu), menu.Size(), 0)
	c.post(menuPath(storeRef(0)), requests.Encode(menu.Sold()), 0, menu.Sold().Size())
	var response *http.Response
	var body []byte
	read := func(tag string, status int) float64 {
		request := c.request("/channel/api/v1/stores/"+storeRef(0)+"/menu/?platform=web", c.Authorization, nil)
		request.Header.Set("If-None-Match", tag)
		took := timed(func() { response, body = c.do(request) })
		verify(response.StatusCode == status, "the effective menu: %s, not %d", response.Status, status)
		return took
	}
	read("", http.StatusOK)
	var seen struct{ Items, Options []struct{} }
	check(json.Unmarshal(body, &seen))
	verify(len(seen.Items) == len(menu["items"]) && len(seen.Options) == len(menu["options"]),
		"%d items and %d options are visible, not %s", len(seen.Items), len(seen.Options), menu)
	size, tag := len(body), response.Header.Get("ETag")
	uncached := inTurn(pick(r.Quick, 40, 20), func() float64 { return read("", http.StatusOK) })[0]
	same := inTurn(pick(r.Quick, 400, 200), func() float64 { return read(tag, http.StatusNotModified) })[0]
	r.add("menu/effective uncached", uncached...).Noted(len(uncached), float64(size)/1e6, slices.Min(uncached))
	r.add("menu/effective 304", same...).Noted(len(same), figures.Percentile(same, 99))
}
