package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// simulateReport gathers what a scenario did and how long the answers took.
type simulateReport struct {
	mu     sync.Mutex
	orders []placedOrder
	calls  map[string]*callTimes
	first  string // complaint
}

// callTimes are the times of the calls of a name. Failed are those without a 2xx.
type callTimes struct {
	failed int
	took   []float64 // milliseconds
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

func (r *simulateReport) complain(name string, status int, message string) {
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
}

// lines tells how the calls fared so far.
func (r *simulateReport) lines() []reportedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []reportedCall{}
	for _, name := range slices.Sorted(maps.Keys(r.calls)) {
		c := r.calls[name]
		took := slices.Sorted(slices.Values(c.took))
		list = append(list, reportedCall{name, len(took), c.failed, quantile(took, 50), quantile(took, 99)})
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

// print prints the report.
func (r *simulateReport) print(out output, f simulateFlags, platforms []string, took time.Duration) error {
	lines := r.lines()
	if f.JSON {
		return printJSON(out, map[string]any{
			"seed": f.Seed, "store": f.Store, "platforms": platforms, "orders": append([]placedOrder{}, r.orders...), "calls": lines, "took_ms": milliseconds(took),
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
	return nil
}

// maxListed is how many orders the report lists for people.
const maxListed = 20
