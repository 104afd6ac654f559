package main

import (
	"cmp"
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

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/figures"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
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
	f.hub.client.Jar = must(cookiejar.New(nil))
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

// consoleKey returns the list of a route in consoleIDs.
func consoleKey(route string) string {
	if inBusiness, ok := strings.CutPrefix(route, "b/:business/"); ok {
		list, _, _ := strings.Cut(inBusiness, "/")
		return "b/" + list
	}
	list, _, _ := strings.Cut(route, "/")
	return list
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
