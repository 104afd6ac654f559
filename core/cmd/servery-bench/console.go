package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/webhook"
)

// consoleRoutes returns the routes of all pages of the console to measure, below its root, with their queries.
func consoleRoutes() (routes []string) {
	var queries map[string][]string
	decode("pages.yaml", &queries)
	for _, page := range adminui.New(adminui.Config{Database: struct{ adminui.Database }{}}).Pages() {
		for _, r := range page.Routes {
			path, isPage := strings.TrimPrefix(r.Path, shell.Root), strings.HasSuffix(r.Path, "/")
			if r.Method != http.MethodGet || !isPage || strings.HasPrefix(r.Path, shell.LivePath) {
				continue
			}
			if _, listed := queries[path]; !listed {
				queries[path] = []string{""}
			}
			for _, query := range queries[path] {
				routes = append(routes, path+query)
			}
			delete(queries, path)
		}
	}
	verify(len(queries) == 0, "pages.yaml lists pages that do not exist: %v", queries)
	return routes
}

// page is a page of the console.
type page struct {
	path  string
	times []float64 // milliseconds
	size  int
}

// The bounds of a page, as in table.yaml. Its size is that without compression.
const medianMS, p95MS, pageBytes = 50, 150, 100_000

// consoleSize is how much the console shows.
type consoleSize struct{ deliveries, stores, items int }

// measureConsole reads the pages of the console, beside a long history and many stores.
func measureConsole(r *run) {
	size := pick(r.Quick, consoleSize{1_000_000, 2500, 500}, consoleSize{60_000, 300, 500})
	e := r.openConsole(size)
	e.signIn()
	pages := e.pages()
	for range pick(r.Quick, 40, 20) {
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
	over := 0
	for _, p := range pages {
		median, p95 := figures.Median(p.times), figures.Percentile(p.times, 95)
		if median > medianMS || p95 > p95MS || p.size > pageBytes {
			over++
			fmt.Fprintf(os.Stderr, "over the bound: %s median %.1f ms, p95 %.1f ms, %d bytes\n", p.path, median, p95,
				p.size)
		}
	}
	r.add("console/pages", half.times...).
		Noted(len(pages), half.path, over, size.deliveries, size.stores, size.items)
	r.add("console/pages p95", figures.Percentile(most.times, 95)).Noted(most.path)
	r.add("console/page size", float64(largest.size)/1e6).Noted(largest.path)
}

// signIn signs the hub's client in to the console as an admin.
func (f *fixture) signIn() {
	records := accessdb.New(f.db)
	accounts := access.Accounts{Users: records, Sessions: records, Attempts: records, Clock: f.db.Clock()}
	email := fmt.Sprintf("bench-%d@example.com", time.Now().UnixNano()) // one for each run with the same data
	_, link, err := accounts.CreateUser(f.ctx, access.User{Email: email, Role: access.Admin}, "cli", "measuring")
	check(err)
	f.http.Jar = must(cookiejar.New(nil))
	session := must(accounts.UseLink(f.ctx, link, "correct horse battery", ""))
	f.http.Jar.SetCookies(must(url.Parse(f.hub.URL)), []*http.Cookie{{Name: "servery", Value: session}})
}

var nextPage = regexp.MustCompile(`href="([^"]*)" rel="next"`)

// pages are the pages to measure, with the second pages of lists. Each has been requested once.
func (e *engine) pages() (pages []*page) {
	var paths []string
	ids := e.pageIDs()
	for _, route := range consoleRoutes() {
		paths = append(paths, shell.Root+e.consolePath(route, ids))
	}
	for i := 0; i < len(paths); i++ {
		body := e.send(paths[i], "", nil)
		pages = append(pages, &page{path: paths[i]})
		older := nextPage.FindStringSubmatch(string(body))
		if older != nil && !strings.Contains(paths[i], "before=") && !strings.Contains(paths[i], "after=") {
			paths = append(paths, html.UnescapeString(older[1]))
		}
	}
	return pages
}

// pageIDs returns the ids in the paths of pages, by the part of the path before them.
func (e *engine) pageIDs() (ids map[string]string) {
	var found []byte
	e.scan([]any{&found}, queries.With("page_ids", postgres.Args{"business": e.business}))
	check(json.Unmarshal(found, &ids))
	return ids
}

// ofObject has the parts of a path before and after the id of an object.
var ofObject = regexp.MustCompile(`^([^:]*):\w+(.*)$`)

// consolePath fills in the parameters of a route.
func (e *engine) consolePath(route string, ids map[string]string) string {
	path := strings.Replace(route, ":business", fmt.Sprint(e.business), 1)
	if parts := ofObject.FindStringSubmatch(path); parts != nil {
		verify(ids[parts[1]] != "", "there is no id for %s", route)
		path = parts[1] + ids[parts[1]] + parts[2]
	}
	return path
}

// openConsole opens the data of the console, and starts the hub. With --data, a later run finds it again while the
// schema is the same.
func (r *run) openConsole(size consoleSize) *engine {
	if r.Data == "" {
		return r.open().fillConsole(size)
	}
	name := fmt.Sprintf("console_%d_%d_%d", size.deliveries, size.stores, size.items)
	full, found := "schema "+must(hubtest.SchemaHash()), ""
	check(r.admin.Bun().QueryRowContext(r.ctx, `SELECT coalesce(max(shobj_description(oid, 'pg_database')), '')
		FROM pg_database WHERE datname = ?`, name).Scan(&found))
	if found != full {
		r.create(name)
		e := r.use(name).fillConsole(size)
		must(r.admin.Bun().ExecContext(r.ctx, `COMMENT ON DATABASE ? IS ?`, bun.Ident(name), full))
		return e
	}
	e := &engine{fixture: r.use(name)}
	e.scan([]any{&e.business}, `SELECT min(business_id) FROM stores`)
	e.hub = e.startHub()
	return e
}

// fillConsole stores deliveries with three attempts each. One in a hundred failed. All its stores sell the same items
// on two platforms. It also fills the other lists of the console, and starts the hub.
func (f *fixture) fillConsole(size consoleSize) *engine {
	e := f.engine(webhook.Minutes)
	e.fillAndDrain(30) // the pattern of the history
	e.hub = e.startHub()
	e.fillHistory(size.deliveries)
	s := e.shopOf(e.prepare(e.tenant, "IN"))
	e.untilCount(0, `SELECT count(*) FROM delivery_queue`) // so that the next callback is that of the next request
	var item string
	e.scan([]any{&item}, `SELECT name FROM catalogue_entities WHERE business_id = ? AND kind = 1 LIMIT 1`, e.business)
	s.post(masterPath, fmt.Appendf(nil, `{"items":[{"ref_id":%q,"price":1234}]}`, item), 0, 1)
	e.execute(queries.With("market_and_problems", postgres.Args{"business": e.business}))
	s.submit(storesPath, must(requests.Stores("", size.stores-1)))
	e.untilCount(size.stores, `SELECT count(*) FROM stores`)
	for day := range historyDays { // in parts, so that each ends well before its timeout
		from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -day)
		e.execute(queries.With("failed_deliveries", postgres.Args{"first": core.FirstID(from),
			"next": core.FirstID(from.AddDate(0, 0, 1))}))
	}
	const parts = 20
	for part := range parts {
		e.execute(queries.With("sold_at_other_stores",
			postgres.Args{"pattern": shopStore, "parts": parts, "part": part}))
	}
	e.execute(queries.With("console_rows", postgres.Args{"business": e.business}))
	e.execute(`ANALYZE`)
	e.execute(`CHECKPOINT`)
	return e
}
