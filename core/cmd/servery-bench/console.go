package main

import (
	"cmp"
	"database/sql"
	"errors"
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

// pageQueries are the queries of pages. A page that is not listed is read once, without a query. A parameter other than
// :business is the id in consoleIDs.
var pageQueries = map[string][]string{
	"search/":           {"?q=dish", "?q=no+such+thing", "?q=W-12"},
	"problems/":         {"", "?state=any"},
	"b/:business/grid/": {"", "?state=closed"},
	"b/:business/deliveries/": {"", "?state=failed", "?state=delivered", "?event=order_placed",
		"?of=failed&sort=failed", "?status=503"},
	"b/:business/deliveries/resend/":    {"?webhook=:webhook"},
	"b/:business/orders/":               {"", "?state=Placed", "?platform=web"},
	"b/:business/calls/":                {"", "?state=failed"},
	"b/:business/jobs/":                 {"", "?kind=menu", "?state=failed"},
	"b/:business/stores/":               {"", "?text=a", "?state=no_items"},
	"b/:business/stores/:id/menu/":      {"?platform=market"},
	"b/:business/stores/:id/menu/diff/": {"?platform=market&after=response"},
	"b/:business/items/":                {"", "?text=dish", "?problem=rule"},
	"b/:business/items/:id/":            {"", "?platform=market", "?reason=live"},
	"b/:business/history/:id/diff/":     {"?at=0"},
	"b/:business/history/:id/restore/":  {"?at=0"},
	"b/:business/settings/platform/":    {"?name=market"},
	"b/:business/audit/":                {"", "?object=store/1"},
}

// unmeasuredPages are routes that are not measured, with the reason.
var unmeasuredPages = map[string]string{
	"b/:business/settings/login/":      "needs a plugin with a login",
	"b/:business/settings/login/done/": "follows a login at an aggregator",
	"platform-login/":                  "an aggregator redirects to it",
}

// consoleRoutes returns the paths of all pages of the console, below its root.
func consoleRoutes() (paths []string) {
	for _, page := range adminui.New(adminui.Config{Database: struct{ adminui.Database }{}}).Pages() {
		for _, r := range page.Routes {
			isFile, isStream := !strings.HasSuffix(r.Path, "/"), strings.HasPrefix(r.Path, shell.LivePath)
			if r.Method == http.MethodGet && !isFile && !isStream {
				paths = append(paths, strings.TrimPrefix(r.Path, shell.Root))
			}
		}
	}
	return paths
}

// Bounds of a page.
const (
	pageMedian = 50      // ms
	pageP95    = 150     // ms
	pageBytes  = 100_000 // uncompressed
)

// page is a page of the console.
type page struct {
	path  string
	times []float64 // milliseconds
	size  int
}

func (p *page) String() string {
	return fmt.Sprintf("%s median %.1f ms, p95 %.1f ms, %d bytes", p.path, figures.Median(p.times),
		figures.Percentile(p.times, 95), p.size)
}

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
		if figures.Median(p.times) > pageMedian || figures.Percentile(p.times, 95) > pageP95 || p.size > pageBytes {
			over++
			fmt.Fprintln(os.Stderr, "over the bound:", p)
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
	form := url.Values{"link": {link}, "password": {"correct horse battery"}}
	request := f.request("/console/welcome/", "", []byte(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, _ := f.do(request) // follows to the overview
	verify(response.StatusCode == http.StatusOK, "signing in: %s", response.Status)
}

var nextPage = regexp.MustCompile(`href="([^"]*)" rel="next"`)

// pages are the pages to measure, with the second pages of lists. Each has been requested once.
func (e *engine) pages() (pages []*page) {
	var paths []string
	for _, route := range consoleRoutes() {
		if unmeasuredPages[route] != "" {
			continue
		}
		queries, ok := pageQueries[route]
		if !ok {
			queries = []string{""}
		}
		for _, query := range queries {
			paths = append(paths, shell.Root+e.consolePath(route+query))
		}
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

// parameter is a parameter of a route other than that of the business.
var parameter = regexp.MustCompile(`:\w+`)

// listOf matches what consoleIDs has of a route: its list, and whether that is one of a business.
var listOf = regexp.MustCompile(`^(b/)?(?::business/)?([^/]*)`)

// consoleKey returns the list of a route in consoleIDs.
func consoleKey(route string) string {
	found := listOf.FindStringSubmatch(route)
	return found[1] + found[2]
}

// consolePath fills in the parameters of a route.
func (e *engine) consolePath(route string) string {
	key, path := consoleKey(route), strings.Replace(route, ":business", fmt.Sprint(e.business), 1)
	return parameter.ReplaceAllStringFunc(path, func(name string) (id string) {
		if name == ":webhook" {
			key = "b/webhooks"
		}
		e.scan([]any{&id}, consoleIDs[key], e.business)
		return id
	})
}

// consoleIDs are the queries of an object of each list, by its path. Those of one business begin with b/.
var consoleIDs = map[string]string{
	"audit":        `SELECT id FROM audit WHERE business_id = 0 LIMIT 1`,
	"plugins":      `SELECT id FROM plugins LIMIT 1`,
	"users":        `SELECT id FROM users LIMIT 1`,
	"b/audit":      `SELECT id FROM audit WHERE business_id = ? ORDER BY id DESC LIMIT 1`,
	"b/calls":      `SELECT id FROM calls WHERE business_id = ? AND state = 'failed' LIMIT 1`,
	"b/customers":  `SELECT 'order-' || min(id) FROM orders WHERE business_id = ?`,
	"b/deliveries": `SELECT id FROM deliveries WHERE business_id = ? AND state = 'failed' ORDER BY id DESC LIMIT 1`,
	"b/history":    `SELECT revision_id FROM revision_parts WHERE business_id = ? AND NOT created LIMIT 1`,
	"b/items":      `SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = 1 ORDER BY id LIMIT 1`,
	"b/jobs":       `SELECT id FROM jobs WHERE business_id = ? AND kind = 'menu' ORDER BY id LIMIT 1`,
	"b/orders":     `SELECT min(id) FROM orders WHERE business_id = ?`,
	"b/problems":   `SELECT id FROM problems WHERE business_id = ? ORDER BY last_seen_at DESC LIMIT 1`,
	"b/stores":     `SELECT store_id FROM store_overrides WHERE business_id = ? LIMIT 1`,
	"b/webhooks":   `SELECT id FROM webhooks WHERE business_id = ? AND event_type = 'order_placed'`,
}

// openConsole opens the data of the console, and starts the hub. With --data, a later run finds it again while the
// schema is the same.
func (r *run) openConsole(size consoleSize) *engine {
	if r.Data == "" {
		return r.open().fillConsole(size)
	}
	name := fmt.Sprintf("console_%d_%d_%d", size.deliveries, size.stores, size.items)
	full, found := "schema "+must(hubtest.SchemaHash()), ""
	err := r.admin.Bun().QueryRowContext(r.ctx, `SELECT coalesce(shobj_description(oid, 'pg_database'), '')
		FROM pg_database WHERE datname = ?`, name).Scan(&found)
	verify(err == nil || errors.Is(err, sql.ErrNoRows), "%v", err)
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
