package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/plugins/simulator"
)

// Bounds of a scenario.
const (
	maxConcurrent = 256 // concurrent calls
	maxRetries    = 5   // retries of a throttled call
)

func rawNumber(text string) json.Number { return json.Number(text) }

// PlacedOrder is an order in the report.
type PlacedOrder struct {
	Platform        string  `json:"platform,omitempty"`
	PlatformOrderID string  `json:"platform_order_id,omitempty"`
	OrderID         int64   `json:"order_id,omitempty"` // the hub's
	Status          int     `json:"status"`             // of the response; 0: none
	Message         string  `json:"message,omitempty"`
	TookMS          float64 `json:"took_ms"`

	basket simulator.Basket
}

// Place places orders, at a rate or one at a time, and returns those that were accepted.
func (s *Scenario) Place(ctx context.Context, spec simulator.OrderSpec, count int,
	rate float64) (accepted []PlacedOrder) {
	orders := make([]PlacedOrder, max(0, count))
	concurrency := maxConcurrent
	if rate <= 0 {
		concurrency = 1
	}
	start := time.Now()
	s.forEach(ctx, count, concurrency, func(n int) {
		orders[n] = s.place(ctx, spec, n)
		s.Report.addAccepted(orders[n].OrderID)
	}, func(n int) time.Time {
		if rate <= 0 {
			return start
		}
		return start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
	})
	for _, o := range orders {
		if o.PlatformOrderID == "" {
			continue // the scenario ended before it
		}
		s.Report.addOrder(o)
		if o.OrderID != 0 {
			accepted = append(accepted, o)
		}
	}
	return accepted
}

// forEach calls do for 0 to count-1, each not before its due time, with bounded concurrency.
func (s *Scenario) forEach(ctx context.Context, count, concurrency int, do func(n int), due func(n int) time.Time) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, concurrency)
	for n := range count {
		if !pause(ctx, time.Until(due(n))) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		all.Go(func() {
			defer func() { <-slots }()
			do(n)
		})
	}
}

// pause waits. It returns false if the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	return ctx.Err() == nil && postgres.Pause(ctx, d) == nil
}

// place places the n-th order.
func (s *Scenario) place(ctx context.Context, spec simulator.OrderSpec, n int) PlacedOrder {
	platform := s.platforms[n%len(s.platforms)]
	basket, err := s.menus[platform].RandomBasket(spec, s.Seed, n)
	if err != nil {
		s.Report.addCall("order", 0, 0)
		return PlacedOrder{Platform: platform, PlatformOrderID: "W-" + basket.Number, Message: err.Error()}
	}
	return s.send(ctx, "order", platform, basket)
}

// send sends an order, through the channel API or through the simulator in the aggregator's own format, and counts it
// under a name.
func (s *Scenario) send(ctx context.Context, name, platform string, basket simulator.Basket) PlacedOrder {
	o := PlacedOrder{Platform: platform, PlatformOrderID: "W-" + basket.Number, basket: basket}
	account := s.accounts[platform]
	if account == "" {
		var reply struct {
			OrderID int64 `json:"order_id"`
		}
		o.Status, o.Message, o.TookMS = s.call(ctx, request{name: name, method: http.MethodPost,
			url: s.BaseURL + "/channel/api/v1/orders/", authorization: s.channel, body: normalForm(platform, basket),
			into: &reply})
		o.OrderID = reply.OrderID
		return o
	}
	var sent []simulator.Sent
	status, message, _ := s.call(ctx, request{method: http.MethodPost, url: account + "/orders",
		authorization: "Bearer " + s.Token, body: map[string]any{"basket": basket}, into: &sent})
	if len(sent) == 0 {
		o.Message = failureText("the simulator", status, message)
		s.Report.addCall(name, 0, 0)
		return o
	}
	o.PlatformOrderID, o.OrderID, o.Status, o.Message, o.TookMS = sent[0].ID, sent[0].HubOrder, sent[0].Status,
		sent[0].Message, sent[0].TookMS
	s.Report.addCall(name, o.Status, o.TookMS)
	s.Report.setMessage(name, o.Message)
	return o
}

var riders = []string{"Asha Patel", "Ravi Kumar", "Ana Silva", "Tom Baker", "Lin Wei"}

// MoveRiders moves the rider of each order from the store to the door.
func (s *Scenario) MoveRiders(ctx context.Context, orders []PlacedOrder, locations int, step time.Duration) {
	now := time.Now()
	s.forEach(ctx, len(orders), maxConcurrent, func(n int) { s.moveRider(ctx, n, orders[n], locations, step) },
		func(int) time.Time { return now })
}

func (s *Scenario) moveRider(ctx context.Context, n int, o PlacedOrder, locations int, step time.Duration) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(n)))
	rider := map[string]string{"rider_name": riders[rng.IntN(len(riders))],
		"rider_phone_number": fmt.Sprintf("555%07d", rng.IntN(10_000_000))}
	status := func(name string) bool {
		code, _, _ := s.call(ctx, request{name: "rider_status", method: http.MethodPost,
			url: s.BaseURL + "/ext/api/v1/generic/pos/rider-status/", authorization: s.pos,
			body: map[string]any{"order_id": o.OrderID, "status": name, "rider_data": rider}})
		return code == http.StatusOK && pause(ctx, step)
	}
	if !status("ASSIGNED") || !status("AT-STORE") || !status("OUT-FOR-DELIVERY") {
		return
	}
	from, to := s.route(n, o)
	for i := range locations {
		part := float64(i+1) / float64(locations+1)
		interpolate := func(a, b float64) string { return strconv.FormatFloat(a+(b-a)*part, 'f', 5, 64) }
		location := map[string]string{"latitude": interpolate(from.Latitude, to.Latitude),
			"longitude": interpolate(from.Longitude, to.Longitude)}
		s.call(ctx, request{name: "rider_location", method: http.MethodPost,
			url: s.BaseURL + "/ext/api/v1/generic/pos/rider-location/", authorization: s.pos,
			body: map[string]any{"order_id": o.OrderID, "location": location}})
		if !pause(ctx, step) {
			return
		}
	}
	_ = status("RIDER-REACHED") && status("DELIVERED")
}

// route returns the route of an order, from the store to the customer. Unknown locations get default ones.
func (s *Scenario) route(n int, o PlacedOrder) (from, to simulator.Point) {
	menu := s.menus[s.platforms[0]]
	if o.basket.Number == "" {
		// This cannot fail, because it succeeded when the menus were read.
		o.basket, _ = menu.RandomBasket(simulator.OrderSpec{}, s.Seed, n)
	}
	if to = o.basket.Customer.Point; menu.Point != nil {
		return *menu.Point, to
	}
	return simulator.Point{Latitude: to.Latitude + 0.01, Longitude: to.Longitude + 0.01}, to
}

// Cancel cancels an order, as its own channel or its aggregator. If that is not simulated, the merchant cancels it.
func (s *Scenario) Cancel(ctx context.Context, o PlacedOrder) {
	if o.Platform == "" {
		o.Platform, o.PlatformOrderID = s.orderPlatform(ctx, o.OrderID)
	}
	path, key := "/external/api/v1/orders/", s.pos
	switch account, simulated := s.accounts[o.Platform]; {
	case simulated && account == "":
		path, key = "/channel/api/v1/orders/", s.channel
	case simulated:
		var sent simulator.Sent
		status, message, _ := s.call(ctx, request{method: http.MethodPost,
			url:           account + "/orders/" + url.PathEscape(o.PlatformOrderID) + "/cancel",
			authorization: "Bearer " + s.Token, body: map[string]any{}, into: &sent})
		if status != http.StatusOK {
			sent = simulator.Sent{Message: failureText("the simulator", status, message)}
		}
		s.Report.addCall("cancel", sent.Status, sent.TookMS)
		s.Report.addError("cancel", sent.Status, sent.Message)
		return
	}
	s.call(ctx, request{name: "cancel", method: http.MethodPut,
		url: fmt.Sprintf("%s%s%d/status/", s.BaseURL, path, o.OrderID), authorization: key,
		body: map[string]any{"new_status": "Cancelled", "message": "the customer changed their mind"}})
}

// orderPlatform returns the platform of an order, and the platform's id of it. Both are empty if the hub does not
// return them.
func (s *Scenario) orderPlatform(ctx context.Context, id int64) (platform, platformOrderID string) {
	var read struct {
		Order struct {
			Details struct {
				Platforms []struct {
					ID   string `json:"id"`
					Name string `json:"name"`
				} `json:"ext_platforms"`
			} `json:"details"`
		} `json:"order"`
	}
	if err := s.read(ctx, fmt.Sprintf("/channel/api/v1/orders/%d/", id), &read); err != nil ||
		len(read.Order.Details.Platforms) == 0 {
		return "", ""
	}
	return read.Order.Details.Platforms[0].Name, read.Order.Details.Platforms[0].ID
}
