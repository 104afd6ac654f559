package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// simulateReport gathers what a scenario did and how long the answers took.
type simulateReport struct {
	mu     sync.Mutex
	orders []placedOrder
	calls  map[string]*callTimes
	ids    []int64 // the hub's, of the orders that were taken
	first  string  // complaint
}

// callTimes are the times of the calls of a name. Failed are those without a 2xx.
type callTimes struct {
	failed int
	took   []float64 // milliseconds
	said   string    // by the latest answer
}

// accepted takes note of an order that the hub took; 0: of none.
func (r *simulateReport) accepted(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != 0 {
		r.ids = append(r.ids, id)
	}
}

func (r *simulateReport) placed(o placedOrder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orders = append(r.orders, o)
	if o.OrderID == 0 && r.first == "" {
		r.first = fmt.Sprintf("order %s of %s: %d %s", o.PlatformOrderID, o.Platform, o.Status, o.Message)
	}
}

func (r *simulateReport) called(name string, status int, took float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[name]
	if c == nil {
		c = &callTimes{}
		r.calls[name] = c
	}
	if status < 200 || status > 299 {
		c.failed++
	}
	c.took = append(c.took, took)
}

// answered takes note of what the latest answer to the calls of a name says.
func (r *simulateReport) answered(name, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[name]; c != nil {
		c.said = message
	}
}

func (r *simulateReport) complain(name string, status int, message string) {
	r.answered(name, message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == "" && (status < 200 || status > 299) {
		r.first = fmt.Sprintf("%s: %d %s", name, status, message)
	}
}

// failure is what failed, and the first reason.
func (r *simulateReport) failure() error {
	failed, all := 0, 0
	for _, c := range r.calls {
		failed, all = failed+c.failed, all+len(c.took)
	}
	if failed == 0 && r.first == "" {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed; the first: %s", failed, all, r.first)
}

// reportedCall is a line of the report.
type reportedCall struct {
	Call   string  `json:"call"`
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Said   string  `json:"last_answer,omitempty"`
}

// lines tells how the calls fared so far.
func (r *simulateReport) lines() []reportedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []reportedCall{}
	for _, name := range slices.Sorted(maps.Keys(r.calls)) {
		c := r.calls[name]
		took := slices.Sorted(slices.Values(c.took))
		list = append(list, reportedCall{name, len(took), c.failed, quantile(took, 50), quantile(took, 99), c.said})
	}
	return list
}

// quantile is the value below which that many percent of a sorted list are, by
// the nearest rank.
func quantile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// known are the orders that were taken so far.
func (r *simulateReport) known() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// awaitArrivals waits until no order_placed webhook of the orders is under way, or
// until the patience or the context ends, and tells how they fared.
func (r *simulateReport) awaitArrivals(ctx context.Context, records postgres.Console, business core.BusinessID, begun time.Time, patience time.Duration) (a console.Arrivals, err error) {
	ending := time.Now().Add(patience)
	for {
		a, err = records.Arrivals(context.WithoutCancel(ctx), business, r.known(), begun.Add(-clocksApart))
		if err != nil || a.Waiting == 0 || time.Now().After(ending) || !pause(ctx, arrivalsEvery) {
			return a, err
		}
	}
}

// Clocks of the hubs and of who simulates may be so far apart; what is under way
// is looked at so often.
const (
	clocksApart   = 100 * time.Millisecond
	arrivalsEvery = 200 * time.Millisecond
)

// reportedArrivals is what the report says of webhooks (console.Arrivals).
type reportedArrivals struct {
	Orders  int     `json:"orders"`
	Known   int     `json:"known"`
	Arrived int     `json:"arrived"`
	Failed  int     `json:"failed"`
	Waiting int     `json:"waiting"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// print prints the report.
func (r *simulateReport) print(out output, f simulateFlags, platforms []string, took time.Duration, a console.Arrivals) error {
	lines := r.lines()
	arrivals := reportedArrivals{a.Orders, a.Known, a.Arrived, a.Failed, a.Waiting, milliseconds(a.P50), milliseconds(a.P99)}
	if f.JSON {
		return printJSON(out, map[string]any{
			"seed": f.Seed, "store": f.Store, "platforms": platforms, "orders": append([]placedOrder{}, r.orders...), "calls": lines, "took_ms": milliseconds(took), "arrivals": arrivals,
		}, nil)
	}
	fmt.Fprintf(out.stdout, "store %s, platforms %s, seed %d, %s\n", f.Store, strings.Join(platforms, ", "), f.Seed, took.Round(time.Millisecond))
	for _, o := range r.orders[:min(len(r.orders), maxListed)] {
		fmt.Fprintf(out.stdout, "  %-14s %-18s %-8s %s\n", o.Platform, o.PlatformOrderID, cmp.Or(fmt.Sprint(o.OrderID), "-"), o.Message)
	}
	if rest := len(r.orders) - maxListed; rest > 0 {
		fmt.Fprintf(out.stdout, "  and %d more\n", rest)
	}
	for _, l := range lines {
		fmt.Fprintf(out.stdout, "%-15s %6d calls %5d failed   p50 %8.1f ms   p99 %8.1f ms\n", l.Call, l.Count, l.Failed, l.P50, l.P99)
	}
	switch {
	case a.Orders == 0:
	case a.Arrived+a.Failed+a.Waiting == 0:
		fmt.Fprintln(out.stdout, "webhooks: none; nothing is subscribed to order_placed")
	default:
		fmt.Fprintf(out.stdout, "order_placed    %6d arrived %4d failed   p50 %8.1f ms   p99 %8.1f ms from the order's acceptance to the receiver's answer; %d under way\n",
			a.Arrived, a.Failed, arrivals.P50, arrivals.P99, a.Waiting)
	}
	if a.Known > 0 {
		fmt.Fprintf(out.stdout, "%d orders were known to the hub before: they bring no webhook; another --seed places others\n", a.Known)
	}
	return nil
}

// maxListed is how many orders the report lists for people.
const maxListed = 20
