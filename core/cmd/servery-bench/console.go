package main

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/webhook"
)

// consolePaths are pages of all businesses. consoleLists are lists of one business; the first entry and the second page
// of each are measured, too.
var (
	consolePaths = []string{"/console/", "/console/users/", "/console/plugins/", "/console/audit/",
		"/console/search/?q=dish", "/console/search/?q=no+such+thing"}
	consoleLists = []string{"", "grid/", "webhooks/", "deliveries/", "deliveries/?state=failed",
		"deliveries/?state=delivered", "deliveries/?event=order_placed", "orders/", "jobs/", "stores/",
		"stores/?text=a", "items/", "items/?text=dish", "keys/", "audit/", "settings/"}
)

// page is a page of the console.
type page struct {
	path  string
	times []float64 // milliseconds
	size  int
}

// consoleSize is how much the console shows.
type consoleSize struct{ deliveries, stores, items int }

// measureConsole reads the pages of the console, beside a long history and many stores.
func measureConsole(r *run) {
	size := pick(r.Quick, consoleSize{1_000_000, 2500, 500}, consoleSize{60_000, 300, 100})
	e := r.openEngine(webhook.Minutes)
	e.fillAndDrain(30) // the pattern of the history
	e.hub = e.startHub()
	e.fillConsole(size)
	e.signIn()
	pages := e.pages()
	for range pick(r.Quick, 40, 10) {
		for _, p := range pages {
			p.times = append(p.times, timed(func() { p.size = len(e.send(p.path, "", nil)) }))
		}
	}
	slowest := func(p float64) *page {
		return slices.MaxFunc(pages, func(a, b *page) int {
			return cmp.Compare(figures.Percentile(a.times, p), figures.Percentile(b.times, p))
		})
	}
	half, most := slowest(50), slowest(95)
	largest := slices.MaxFunc(pages, func(a, b *page) int { return cmp.Compare(a.size, b.size) })
	slices.SortFunc(pages, func(a, b *page) int {
		return cmp.Compare(figures.Median(b.times), figures.Median(a.times))
	})
	var named []string
	for _, p := range pages[:3] {
		named = append(named, fmt.Sprintf("%s %.1f ms", p.path, figures.Median(p.times)))
	}
	r.add("console/pages", half.times...).
		Noted(len(pages), strings.Join(named, ", "), size.deliveries, size.stores, size.items)
	r.add("console/pages p95", figures.Percentile(most.times, 95)).Noted(most.path)
	r.add("console/page size", float64(largest.size)/1e6).Noted(largest.path)
}

// fillConsole stores deliveries with three attempts each, counts of attempts, and stores that all sell the same items.
// One delivery in a hundred failed.
func (e *engine) fillConsole(size consoleSize) {
	e.fillHistory(size.deliveries)
	accounts := access.Access{Keys: accessdb.New(e.db), Clock: e.db.Clock()}
	_, secret, err := accounts.CreateKey(e.ctx, access.Key{Business: e.business, Username: "pos", Scope: core.ScopePOS})
	check(err)
	who := hubtest.Tenant{ID: e.business, Authorization: "apikey pos:" + secret}
	stores := must(requests.Stores("", size.stores))
	e.submit(who, storesPath, stores)
	e.untilCount(size.stores, `SELECT count(*) FROM stores`)
	e.submit(who, menuPath("10000"), requests.Items(size.items, requests.Object{"price": 10}))
	e.untilCount(size.items, `SELECT count(*) FROM store_overrides`)
	for day := range historyDays { // in parts, so that each ends well before its timeout
		from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -day)
		first, last := core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1))
		e.execute(`UPDATE deliveries SET state = 'failed', status = 503
			WHERE id >= ? AND id < ? AND get_byte(uuid_send(id), 15) % 100 = 0`, first, last)
		e.execute(`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('n', i))).*
			FROM attempts a, generate_series(2, 3) i WHERE delivery_id >= ? AND delivery_id < ? AND n = 1`, first, last)
	}
	const parts = 20
	for part := range parts {
		e.execute(`INSERT INTO store_overrides (business_id, store_id, kind, id, content)
			SELECT a.business_id, s.id, a.kind, a.id, a.content
			FROM store_overrides a JOIN stores s ON s.business_id = a.business_id AND s.id <> a.store_id
			WHERE a.store_id = (SELECT id FROM stores WHERE ref_id = '10000') AND s.id % ? = ?`, parts, part)
	}
	e.execute(`INSERT INTO attempt_counts (business_id, bucket_seconds, bucket_start, webhook_id, succeeded, failed,
		total_us, max_us)
		SELECT w.business_id, g.grain,
			to_timestamp(floor(extract(epoch FROM now()) / g.grain) * g.grain) - i * g.grain * interval '1 second', x,
			900, 30, 20000000, 900000
		FROM webhooks w, (VALUES (60, 2880), (3600, 2160)) g (grain, spans), generate_series(0, g.spans - 1) i,
			unnest(ARRAY[0, w.id]) x
		ON CONFLICT DO NOTHING`)
	e.execute(`ANALYZE`)
	e.execute(`CHECKPOINT`)
}

// signIn signs the hub's client in to the console as an admin.
func (f *fixture) signIn() {
	records := accessdb.New(f.db)
	accounts := access.Accounts{Users: records, Sessions: records, Attempts: records, Clock: f.db.Clock()}
	_, link, err := accounts.CreateUser(f.ctx, access.User{Email: "bench@example.com", Role: access.Admin}, "cli",
		"measuring")
	check(err)
	f.hub.client.Jar = must(cookiejar.New(nil))
	form := url.Values{"link": {link}, "password": {"correct horse battery"}}
	request := f.request("/console/welcome/", "", []byte(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, _ := f.do(request) // follows to the overview
	verify(response.StatusCode == http.StatusOK, "signing in: %s", response.Status)
}

var nextPage = regexp.MustCompile(`href="([^"]*)" rel="next"`)

// pages are the pages to measure. Each has been requested once.
func (e *engine) pages() (pages []*page) {
	business := fmt.Sprintf("/console/b/%d/", e.business)
	entry := regexp.MustCompile(`href="(` + business + `(?:webhooks|deliveries|orders|jobs|stores|items)/[0-9a-f-]+/)"`)
	paths := slices.Clone(consolePaths)
	for _, list := range consoleLists {
		paths = append(paths, business+list)
	}
	for i := 0; i < len(paths); i++ {
		body := e.send(paths[i], "", nil)
		pages = append(pages, &page{path: paths[i]})
		kind, _, _ := strings.Cut(strings.TrimPrefix(paths[i], business), "?")
		first := entry.FindStringSubmatch(string(body))
		if first != nil && kind != "" && strings.Count(paths[i], "/") == 5 && !slices.Contains(paths, first[1]) {
			paths = append(paths, first[1])
		}
		older := nextPage.FindStringSubmatch(string(body))
		if older != nil && !strings.Contains(paths[i], "before=") && !strings.Contains(paths[i], "after=") {
			paths = append(paths, html.UnescapeString(older[1]))
		}
	}
	return pages
}
