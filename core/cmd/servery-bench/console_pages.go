package main

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// consoleLists are pages of lists below that of the business; of each the first
// thing is looked at too.
var consoleLists = []string{"", "grid/", "webhooks/", "deliveries/", "deliveries/?state=failed", "deliveries/?state=delivered", "deliveries/?event=order_placed", "orders/",
	"jobs/", "stores/", "stores/?text=a", "items/", "items/?text=dish", "keys/", "audit/", "settings/"}

// pageTimes are how long the answers of a page took, in milliseconds.
type pageTimes struct {
	path  string
	times []float64
	size  int
}

// measureConsole tells how soon the console's pages are there, beside a long
// history and many stores: the slowest page at the median and at p95.
func measureConsole(ctx context.Context, b *bench) ([]figure, error) {
	const name = "pages"
	sizes := pick(b, consoleSizes{1_000_000, 2500, 500}, consoleSizes{60_000, 300, 100})
	r, err := openReplica(ctx, b, name, webhook.Minutes)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop(name, b.log)
	defer r.close()
	if err := r.fillQueue(ctx, 30); err != nil {
		return nil, err
	}
	if _, err := r.drain(ctx, b, 30); err != nil { // leaves the rows that the history is made of
		return nil, err
	}
	address, err := b.pg.address(name)
	if err != nil {
		return nil, err
	}
	hub, err := startHub(ctx, b, name, address)
	if err != nil {
		return nil, err
	}
	defer hub.stop()
	if err := r.fillConsole(ctx, hub, sizes); err != nil {
		return nil, err
	}
	if err := hub.signIn(ctx, r.db); err != nil {
		return nil, err
	}
	pages, err := hub.consolePages(ctx, r)
	if err != nil {
		return nil, err
	}
	for range pick(b, 40, 10) {
		for _, p := range pages {
			began := time.Now()
			body, err := hub.get(ctx, p.path)
			if err != nil {
				return nil, err
			}
			p.times, p.size = append(p.times, inMilliseconds(time.Since(began))), len(body)
		}
	}
	at := func(percent float64) *pageTimes {
		return slices.MaxFunc(pages, func(a, b *pageTimes) int {
			return cmp.Compare(percentile(a.times, percent), percentile(b.times, percent))
		})
	}
	half, most := at(50), at(95)
	largest := slices.MaxFunc(pages, func(a, b *pageTimes) int { return cmp.Compare(a.size, b.size) })
	middle, late := percentile(half.times, 50), percentile(most.times, 95)
	of := fmt.Sprintf("%d pages beside %d deliveries of 3 attempts, %d stores, %d items", len(pages), sizes.deliveries, sizes.stores, sizes.items)
	return []figure{
		figure{Name: "console/pages", Unit: milliseconds, Measured: middle, Rounds: half.times}.judged("<= 50 ms", middle <= 50).noted("median of the slowest page; " + slowest(pages) + "; " + of),
		figure{Name: "console/pages p95", Unit: milliseconds, Measured: late, Rounds: most.times}.judged("<= 150 ms", late <= 150).noted("slowest page: " + most.path),
		figure{Name: "console/page size", Unit: megabytes, Measured: float64(largest.size) / 1e6}.judged("<= 0.1 MB", largest.size <= 100<<10).noted("largest page: " + largest.path),
	}, nil
}

// slowest names the three pages with the highest medians.
func slowest(pages []*pageTimes) string {
	sorted := slices.SortedFunc(slices.Values(pages), func(a, b *pageTimes) int { return cmp.Compare(median(b.times), median(a.times)) })
	var named []string
	for _, p := range sorted[:min(3, len(sorted))] {
		named = append(named, fmt.Sprintf("%s %.1f ms", p.path, median(p.times)))
	}
	return strings.Join(named, ", ")
}

// signIn has the process's client signed in to the console as an admin.
func (h *hubProcess) signIn(ctx context.Context, db *postgres.DB) error {
	c := postgres.Console{DB: db}
	people := access.Accounts{Users: c, Sessions: c, Attempts: c, Clock: db.Clock()}
	_, link, err := people.CreateUser(ctx, access.User{Email: "bench@example.com", Role: access.Admin}, "cli", "measuring")
	if err != nil {
		return err
	}
	if h.client.Jar, err = cookiejar.New(nil); err != nil {
		return err
	}
	form := url.Values{"link": {link}, "password": {"correct horse battery"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/console/welcome/", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	_, err = h.do(request) // follows to the overview
	return err
}

// consolePages are the pages to measure, each asked for once by then.
func (h *hubProcess) consolePages(ctx context.Context, r *replica) ([]*pageTimes, error) {
	business := fmt.Sprintf("/console/b/%d/", r.business)
	paths := []string{"/console/", "/console/users/", "/console/plugins/", "/console/audit/", "/console/search/?q=dish", "/console/search/?q=" + url.QueryEscape("no such thing")}
	for _, list := range consoleLists {
		paths = append(paths, business+list)
	}
	things := regexp.MustCompile(`href="(` + business + `(?:webhooks|deliveries|orders|jobs|stores|items)/[0-9a-f-]+/)"`)
	var pages []*pageTimes
	for i := 0; i < len(paths); i++ {
		body, err := h.get(ctx, paths[i])
		if err != nil {
			return nil, err
		}
		pages = append(pages, &pageTimes{path: paths[i]})
		kind, _, _ := strings.Cut(strings.TrimPrefix(paths[i], business), "?")
		first := things.FindSubmatch(body)
		older := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindSubmatch(body)
		if first != nil && kind != "" && strings.Count(paths[i], "/") == 5 && !slices.Contains(paths, string(first[1])) {
			paths = append(paths, string(first[1]))
		}
		if older != nil && !strings.Contains(paths[i], "before=") && !strings.Contains(paths[i], "after=") {
			paths = append(paths, html.UnescapeString(string(older[1])))
		}
	}
	return pages, nil
}
