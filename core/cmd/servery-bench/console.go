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

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/figures"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

// consolePages are the routes of pages, some with queries. A parameter other than :business is the id in consoleIDs.
var consolePages = []string{"", "account/", "search/?q=dish", "search/?q=no+such+thing", "search/?q=W-12", "problems/",
	"problems/?state=any", "plugins/", "plugins/:id/", "users/", "users/:id/", "audit/", "audit/:id/",
	"b/:business/", "b/:business/grid/", "b/:business/grid/?state=closed", "b/:business/problems/",
	"b/:business/problems/:id/", "b/:business/problems/:id/resend/", "b/:business/webhooks/",
	"b/:business/webhooks/:id/", "b/:business/deliveries/", "b/:business/deliveries/?state=failed",
	"b/:business/deliveries/?state=delivered", "b/:business/deliveries/?event=order_placed",
	"b/:business/deliveries/?of=failed&sort=failed", "b/:business/deliveries/?status=503",
	"b/:business/deliveries/resend/?webhook=:webhook", "b/:business/deliveries/:id/",
	"b/:business/deliveries/:id/diff/", "b/:business/orders/", "b/:business/orders/?state=Placed",
	"b/:business/orders/?platform=web", "b/:business/orders/refused/", "b/:business/orders/:id/",
	"b/:business/orders/:id/diff/", "b/:business/calls/", "b/:business/calls/?state=failed", "b/:business/calls/:id/",
	"b/:business/customers/", "b/:business/customers/:subject/", "b/:business/jobs/", "b/:business/jobs/?kind=menu",
	"b/:business/jobs/?state=failed", "b/:business/jobs/:reference/", "b/:business/jobs/:reference/diff/",
	"b/:business/stores/", "b/:business/stores/?text=a", "b/:business/stores/?state=no_items",
	"b/:business/stores/:id/", "b/:business/stores/:id/diff/", "b/:business/stores/:id/menu/?platform=market",
	"b/:business/stores/:id/menu/diff/?platform=market&after=response", "b/:business/items/",
	"b/:business/items/?text=dish", "b/:business/items/?problem=rule", "b/:business/items/:id/",
	"b/:business/items/:id/?platform=market", "b/:business/items/:id/?reason=live", "b/:business/history/",
	"b/:business/history/item/", "b/:business/history/:id/", "b/:business/history/:id/diff/?at=0",
	"b/:business/history/:id/rollback/", "b/:business/history/:id/restore/?at=0", "b/:business/keys/",
	"b/:business/settings/", "b/:business/settings/platform/?name=market", "b/:business/checklist/",
	"b/:business/sandbox/", "b/:business/audit/", "b/:business/audit/?object=store/1", "b/:business/audit/:id/"}

// unmeasuredPages are routes that are not measured, with the reason.
var unmeasuredPages = map[string]string{
	"b/:business/settings/login/":      "needs a plugin with a login",
	"b/:business/settings/login/done/": "follows a login at an aggregator",
	"platform-login/":                  "an aggregator redirects to it",
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
	paths := make([]string, len(consolePages))
	for i, route := range consolePages {
		paths[i] = shell.Root + e.consolePath(route)
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
var parameter = regexp.MustCompile(`:(id|subject|reference|webhook)\b`)

// consolePath fills in the parameters of a route.
func (e *engine) consolePath(route string) string {
	list, _, _ := strings.Cut(route, "/:")
	key := strings.Replace(list, "b/:business/", "b/", 1)
	if inBusiness, ok := strings.CutPrefix(route, "b/:business/"); ok {
		list, _, _ = strings.Cut(inBusiness, "/")
		key = "b/" + list
	}
	path := strings.Replace(route, ":business", fmt.Sprint(e.business), 1)
	return parameter.ReplaceAllStringFunc(path, func(name string) (id string) {
		if name == ":webhook" {
			key = "b/webhooks"
		}
		e.scan([]any{&id}, consoleIDs[key], e.business)
		return id
	})
}
