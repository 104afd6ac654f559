package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

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
func (s *Scenario) Place(ctx context.Context, wish simulator.OrderSpec, count int, rate float64) (taken []PlacedOrder) {
	orders := make([]PlacedOrder, count)
	atOnce := maxConcurrent
	if rate <= 0 {
		atOnce = 1
	}
	begun := time.Now()
	s.forEach(ctx, count, atOnce, func(n int) {
		orders[n] = s.place(ctx, wish, n)
		s.Report.addAccepted(orders[n].OrderID)
	}, func(n int) time.Time {
		if rate <= 0 {
			return begun
		}
		return begun.Add(time.Duration(float64(n) / rate * float64(time.Second)))
	})
	for _, o := range orders {
		if o.PlatformOrderID == "" {
			continue // the scenario ended before it
		}
		s.Report.addOrder(o)
		if o.OrderID != 0 {
			taken = append(taken, o)
		}
	}
	return taken
}

// forEach calls do for 0 to count-1, each not before its due time, with bounded concurrency.
func (s *Scenario) forEach(ctx context.Context, count, atOnce int, do func(n int), due func(n int) time.Time) {
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, atOnce)
	for n := range count {
		if !pause(ctx, time.Until(due(n))) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case room <- struct{}{}:
		}
		all.Go(func() {
			defer func() { <-room }()
			do(n)
		})
	}
}

// pause waits. It returns false if the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// place places the n-th order.
func (s *Scenario) place(ctx context.Context, wish simulator.OrderSpec, n int) PlacedOrder {
	platform := s.platforms[n%len(s.platforms)]
	basket, err := s.menus[platform].RandomBasket(wish, s.Seed, n)
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
		var answer struct {
			OrderID int64 `json:"order_id"`
		}
		o.Status, o.Message, o.TookMS = s.call(ctx, name, http.MethodPost, s.BaseURL+"/channel/api/v1/orders/",
			s.channel, normalForm(platform, basket), &answer)
		o.OrderID = answer.OrderID
		return o
	}
	var sent []simulator.Sent
	status, message, _ := s.call(ctx, "", http.MethodPost, account+"/orders", "Bearer "+s.Token,
		map[string]any{"basket": basket}, &sent)
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
func (s *Scenario) MoveRiders(ctx context.Context, orders []PlacedOrder, places int, step time.Duration) {
	now := time.Now()
	s.forEach(ctx, len(orders), maxConcurrent, func(n int) { s.moveRider(ctx, n, orders[n], places, step) },
		func(int) time.Time { return now })
}

func (s *Scenario) moveRider(ctx context.Context, n int, o PlacedOrder, places int, step time.Duration) {
	lot := rand.New(rand.NewPCG(s.Seed, uint64(n)))
	rider := map[string]string{"rider_name": riders[lot.IntN(len(riders))],
		"rider_phone_number": fmt.Sprintf("555%07d", lot.IntN(10_000_000))}
	status := func(name string) bool {
		code, _, _ := s.call(ctx, "rider_status", http.MethodPost, s.BaseURL+"/ext/api/v1/generic/pos/rider-status/",
			s.pos,
			map[string]any{"order_id": o.OrderID, "status": name, "rider_data": rider}, nil)
		return code == http.StatusOK && pause(ctx, step)
	}
	if !status("ASSIGNED") || !status("AT-STORE") || !status("OUT-FOR-DELIVERY") {
		return
	}
	from, to := s.route(n, o)
	for i := range places {
		part := float64(i+1) / float64(places+1)
		degrees := func(a, b float64) string { return strconv.FormatFloat(a+(b-a)*part, 'f', 5, 64) }
		s.call(ctx, "rider_location", http.MethodPost, s.BaseURL+"/ext/api/v1/generic/pos/rider-location/", s.pos,
			map[string]any{
				"order_id": o.OrderID, "location": map[string]string{"latitude": degrees(from.Latitude, to.Latitude),
					"longitude": degrees(from.Longitude, to.Longitude)}}, nil)
		if !pause(ctx, step) {
			return
		}
	}
	_ = status("RIDER-REACHED") && status("DELIVERED")
}

// route returns the route of an order, from the store to the customer. Unknown locations get default ones.
func (s *Scenario) route(n int, o PlacedOrder) (from, to simulator.Point) {
	shelf := s.menus[s.platforms[0]]
	if o.basket.Number == "" {
		o.basket, _ = shelf.RandomBasket(simulator.OrderSpec{}, s.Seed, n) // cannot fail: it succeeded when the menus were read
	}
	if to = o.basket.Customer.Point; shelf.Point != nil {
		return *shelf.Point, to
	}
	return simulator.Point{Latitude: to.Latitude + 0.01, Longitude: to.Longitude + 0.01}, to
}

// Cancel cancels an order, as its own channel or its aggregator. If that is not simulated, the merchant cancels it.
func (s *Scenario) Cancel(ctx context.Context, o PlacedOrder) {
	if o.Platform == "" {
		o.Platform, o.PlatformOrderID = s.orderPlatform(ctx, o.OrderID)
	}
	path, key := "/external/api/v1/orders/", s.pos
	switch account, played := s.accounts[o.Platform]; {
	case played && account == "":
		path, key = "/channel/api/v1/orders/", s.channel
	case played:
		var sent simulator.Sent
		status, message, _ := s.call(ctx, "", http.MethodPost,
			account+"/orders/"+url.PathEscape(o.PlatformOrderID)+"/cancel", "Bearer "+s.Token, map[string]any{}, &sent)
		if status != http.StatusOK {
			sent = simulator.Sent{Message: failureText("the simulator", status, message)}
		}
		s.Report.addCall("cancel", sent.Status, sent.TookMS)
		s.Report.addError("cancel", sent.Status, sent.Message)
		return
	}
	s.call(ctx, "cancel", http.MethodPut, fmt.Sprintf("%s%s%d/status/", s.BaseURL, path, o.OrderID), key,
		map[string]any{"new_status": "Cancelled", "message": "the customer changed their mind"}, nil)
}

// orderPlatform returns the platform of an order, and the platform's id of it. Both are empty if the hub does not return
// them.
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

// read reads from the hub, as a channel.
func (s *Scenario) read(ctx context.Context, path string, into any) error {
	status, message, _ := s.call(ctx, "", http.MethodGet, s.BaseURL+path, s.channel, nil, into)
	if status != http.StatusOK {
		return errors.New(failureText("the hub at "+s.BaseURL+path, status, message))
	}
	return nil
}

// failureText describes a failed request: the response, or the lack of one.
func failureText(who string, status int, message string) string {
	if status == 0 {
		return message
	}
	return fmt.Sprintf("%s answered %d: %s", who, status, message)
}

// call sends a request, retries it when throttled, and counts it under a name.
func (s *Scenario) call(ctx context.Context, name, method, address, authorization string, body,
	into any) (status int, message string, took float64) {
	for range maxRetries {
		var wait time.Duration
		status, message, took, wait = s.callOnce(ctx, method, address, authorization, body, into)
		if status != http.StatusTooManyRequests || !pause(ctx, wait) {
			break
		}
	}
	if name != "" {
		s.Report.addCall(name, status, took)
		s.Report.addError(name, status, message)
	}
	return status, message, took
}

func (s *Scenario) callOnce(ctx context.Context, method, address, authorization string, body,
	into any) (status int, message string, took float64, wait time.Duration) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err.Error(), 0, 0
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return 0, err.Error(), 0, 0
	}
	request.Header.Set("Authorization", authorization)
	request.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return 0, fmt.Sprintf("no response from %s://%s: %v", request.URL.Scheme, request.URL.Host,
			errors.Unwrap(err)), milliseconds(time.Since(begun)), 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	took = milliseconds(time.Since(begun))
	var told struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &told) // a list has none
	if into != nil && response.StatusCode == http.StatusOK {
		err = errors.Join(err, json.Unmarshal(text, into))
	}
	if err != nil {
		return 0, "the response cannot be read: " + err.Error(), took, 0
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, told.Message, took, time.Duration(max(1, min(seconds, 60))) * time.Second
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func toDuration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
