package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
)

// Report collects the results and response times of a scenario.
type Report struct {
	mu         sync.Mutex
	orders     []PlacedOrder
	calls      map[string]*callStats
	ids        []int64 // the hub's ids of accepted orders
	firstError string  // the first error
}

// callStats are the times of the calls of a name. Calls without a 2xx have failed.
type callStats struct {
	failed  int
	took    []float64 // milliseconds
	message string    // the latest response
}

// addAccepted records an order that the hub accepted. It ignores 0.
func (r *Report) addAccepted(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != 0 {
		r.ids = append(r.ids, id)
	}
}

func (r *Report) addOrder(o PlacedOrder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orders = append(r.orders, o)
	if o.OrderID == 0 && r.firstError == "" {
		r.firstError = fmt.Sprintf("order %s of %s: %d %s", o.PlatformOrderID, o.Platform, o.Status, o.Message)
	}
}

func (r *Report) addCall(name string, status int, took float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[name]
	if c == nil {
		c = &callStats{}
		r.calls[name] = c
	}
	if status < 200 || status > 299 {
		c.failed++
	}
	c.took = append(c.took, took)
}

// setMessage records the message of the latest response to calls of a name.
func (r *Report) setMessage(name, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[name]; c != nil {
		c.message = message
	}
}

func (r *Report) addError(name string, status int, message string) {
	r.setMessage(name, message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.firstError == "" && (status < 200 || status > 299) {
		r.firstError = fmt.Sprintf("%s: %d %s", name, status, message)
	}
}

// Failure returns the failures as an error, with the first reason.
func (r *Report) Failure() error {
	failed, all := 0, 0
	for _, c := range r.calls {
		failed, all = failed+c.failed, all+len(c.took)
	}
	if failed == 0 && r.firstError == "" {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed, the first with: %s", failed, all, r.firstError)
}

// ReportedCall is a line of the report.
type ReportedCall struct {
	Call        string  `json:"call"`
	Count       int     `json:"count"`
	Failed      int     `json:"failed"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	LastMessage string  `json:"last_message,omitempty"`
}

// lines returns the statistics of the calls so far.
func (r *Report) lines() []ReportedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []ReportedCall{}
	for _, name := range slices.Sorted(maps.Keys(r.calls)) {
		c := r.calls[name]
		list = append(list, ReportedCall{name, len(c.took), c.failed, figures.Percentile(c.took, 50),
			figures.Percentile(c.took, 99), c.message})
	}
	return list
}

// acceptedIDs returns the orders that were accepted so far.
func (r *Report) acceptedIDs() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// AwaitArrivals waits until no order_placed delivery of the orders is pending, or until the patience or the context
// ends, and returns the counts.
func (r *Report) AwaitArrivals(ctx context.Context, records consolelists.Store, business core.BusinessID,
	start time.Time, timeout time.Duration) (a console.ScenarioDeliveries, err error) {
	deadline := time.Now().Add(timeout)
	for {
		a, err = records.ScenarioDeliveries(context.WithoutCancel(ctx), business, r.acceptedIDs(),
			start.Add(-clockTolerance))
		if err != nil || a.Waiting == 0 || time.Now().After(deadline) || !pause(ctx, pollInterval) {
			return a, err
		}
	}
}

// The tolerated difference between the clocks of the hubs and the simulation, and the interval of the checks.
const (
	clockTolerance = 100 * time.Millisecond
	pollInterval   = 200 * time.Millisecond
)

// ReportedArrivals says how many orders reached the endpoint.
type ReportedArrivals struct {
	Orders  int     `json:"orders"`
	Known   int     `json:"known"`
	Arrived int     `json:"arrived"`
	Failed  int     `json:"failed"`
	Waiting int     `json:"waiting"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// Print prints the report of a scenario for people, or as JSON.
func (s *Scenario) Print(out io.Writer, asJSON bool, took time.Duration, a console.ScenarioDeliveries) error {
	r := s.Report
	lines := r.lines()
	arrivals := ReportedArrivals{a.NewOrders, a.KnownOrders, a.Delivered, a.Failed, a.Waiting, milliseconds(a.P50),
		milliseconds(a.P99)}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(map[string]any{
			"seed": s.Seed, "store": s.Store, "platforms": s.platforms, "orders": append([]PlacedOrder{}, r.orders...),
			"calls": lines, "took_ms": milliseconds(took), "arrivals": arrivals,
		})
	}
	fmt.Fprintf(out, "store %s, platforms %s, seed %d, %s\n", s.Store, strings.Join(s.platforms, ", "), s.Seed,
		took.Round(time.Millisecond))
	for _, o := range r.orders[:min(len(r.orders), maxListed)] {
		fmt.Fprintf(out, "  %-14s %-18s %-8s %s\n", o.Platform, o.PlatformOrderID,
			cmp.Or(fmt.Sprint(o.OrderID), "-"), o.Message)
	}
	if rest := len(r.orders) - maxListed; rest > 0 {
		fmt.Fprintf(out, "  and %d more\n", rest)
	}
	for _, l := range lines {
		fmt.Fprintf(out, "%-15s %6d calls %5d failed   p50 %8.1f ms   p99 %8.1f ms\n", l.Call, l.Count, l.Failed,
			l.P50, l.P99)
	}
	switch {
	case a.NewOrders == 0:
	case a.Delivered+a.Failed+a.Waiting == 0:
		fmt.Fprintln(out, "webhooks: none; nothing is subscribed to order_placed")
	default:
		fmt.Fprintf(out,
			"order_placed    %6d arrived %4d failed   p50 %8.1f ms   p99 %8.1f ms from the order's acceptance to the "+
				"receiver's answer; %d under way\n",
			a.Delivered, a.Failed, arrivals.P50, arrivals.P99, a.Waiting)
	}
	if a.KnownOrders > 0 {
		fmt.Fprintf(out,
			"%d orders were known to the hub before: they bring no webhook; another --seed places others\n",
			a.KnownOrders)
	}
	return nil
}

// maxListed bounds the orders in the report for people.
const maxListed = 20
