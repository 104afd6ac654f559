package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Riders are relayed to aggregator B, whose part the sink plays.
const (
	riderPlatform = "aggregator-b"
	riderOrders   = 200
	statusRate    = 1000.0 // a second
)

// riderStates are the statuses that follow each other, and B's names of them.
var riderStates = [][2]string{{"AT-STORE", "rider_at_store"}, {"OUT-FOR-DELIVERY", "picked_up"}, {"RIDER-REACHED", "rider_at_customer"}}

// riderBench has a business with orders of B that its own riders bring.
type riderBench struct {
	*storeBench
	statuses, places *poster
	orders           []int64
}

func openRiderBench(ctx context.Context, b *bench, name string) (r *riderBench, err error) {
	r = &riderBench{}
	if r.storeBench, err = openStoreBench(ctx, b, name); err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	who, err := r.business(ctx)
	if err != nil {
		return r, err
	}
	if err = r.played(ctx, who.business); err != nil {
		return r, err
	}
	store := fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"Harbour Street","city":"Oakland"}]}`, orderedStore)
	if _, err = r.post(ctx, who, []byte(store), 1, 0); err != nil {
		return r, err
	}
	at := strings.TrimPrefix(r.hub.base, "http://")
	r.statuses = newPoster(at, "/ext/api/v1/generic/pos/rider-status/", who.authorization, orderConnections)
	r.places = newPoster(at, "/ext/api/v1/generic/pos/rider-location/", who.authorization, orderConnections)
	if err = r.sink.reset(0); err == nil {
		err = r.bring(ctx, who)
	}
	return r, err
}

func (r *riderBench) close() {
	for _, p := range []*poster{r.statuses, r.places} {
		if p != nil {
			p.close()
		}
	}
	r.storeBench.close()
}

// bring places the orders and gives each a rider.
func (r *riderBench) bring(ctx context.Context, who tenant) error {
	accounts := access.Access{Records: postgres.Access{DB: r.db}, Clock: r.db.Clock()}
	_, secret, err := accounts.CreateKey(ctx, access.Key{Business: who.business, Username: "shop", Scope: core.ScopeChannel})
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	r.orders = make([]int64, riderOrders)
	for i := range r.orders {
		body := fmt.Sprintf(`{"platform":%q,"platform_order_id":"R-%d","store_ref_id":%q,"delivery_type":"self","items":[{"ref_id":"dal","title":"Dal","quantity":1,"price":5}]}`,
			riderPlatform, i, orderedStore)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.hub.base+"/channel/api/v1/orders/", strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "apikey shop:"+secret)
		request.Header.Set("Content-Type", "application/json")
		answer, err := r.hub.do(request)
		if err != nil {
			return err
		}
		var told struct {
			OrderID int64 `json:"order_id"`
		}
		if err := json.Unmarshal(answer, &told); err != nil {
			return err
		}
		r.orders[i] = told.OrderID
	}
	return inParallel(riderOrders, 8, func(i int) error {
		return r.statuses.post(fmt.Appendf(nil, `{"order_id":%d,"status":"ASSIGNED","rider_data":{"rider_name":"Asha","rider_phone_number":"4155550100"}}`, r.orders[i]))
	})
}

// relayed waits until the sink has had so many requests of a kind, and returns
// these by the path of their order.
func (r *riderBench) relayed(kind string, n int, within time.Duration) (map[string][]arrival, time.Time, error) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		came, err := r.sink.arrivals()
		if err != nil {
			return nil, time.Time{}, err
		}
		byOrder, count, last := map[string][]arrival{}, 0, int64(0)
		for _, a := range came {
			if order, of := strings.CutSuffix(a.Path, kind); of {
				byOrder[order] = append(byOrder[order], a)
				count, last = count+1, max(last, a.At)
			}
		}
		switch {
		case count >= n:
			return byOrder, time.Unix(0, last), nil
		case time.Since(began) > within:
			return nil, time.Time{}, fmt.Errorf("only %d of %d requests were relayed within %v", count, n, within)
		}
	}
}

// measureRiders posts places as fast as they are taken, and statuses at an even rate.
func measureRiders(ctx context.Context, b *bench) ([]figure, error) {
	r, err := openRiderBench(ctx, b, "riders")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("riders", b.log)
	defer r.close()
	if _, _, err := r.relayed("/delivery-state", riderOrders, 20*time.Second); err != nil {
		return nil, err
	}
	places, err := r.measurePlaces(b)
	if err != nil {
		return nil, err
	}
	statuses, err := r.measureStatuses(ctx, b)
	return []figure{places, statuses}, err
}

func (r *riderBench) measurePlaces(b *bench) (figure, error) {
	n := pick(b, 20000, 4000)
	var rates []float64
	told := 0
	for range pick(b, 4, 2) {
		if err := r.sink.reset(0); err != nil {
			return figure{}, err
		}
		began := time.Now()
		if err := inParallel(n, orderConnections, func(i int) error {
			return r.places.post(fmt.Appendf(nil, `{"order_id":%d,"location":{"latitude":"37.%06d","longitude":"-122.419400"}}`, r.orders[i%riderOrders], i))
		}); err != nil {
			return figure{}, err
		}
		rates = append(rates, float64(n)/time.Since(began).Seconds())
		byOrder, _, err := r.relayed("/rider-position", riderOrders, 20*time.Second)
		if err != nil {
			return figure{}, err
		}
		for _, list := range byOrder {
			told += len(list)
		}
	}
	f := medianFigure("riders/locations", perSecond, rates)
	return f.judged(">= 5,000/s", f.Measured >= 5000).noted(fmt.Sprintf(
		"accepted, from %d connections for %d orders; of %d places %d were relayed, the newest of each order", orderConnections, riderOrders, n*len(rates), told)), nil
}

func (r *riderBench) measureStatuses(ctx context.Context, b *bench) (figure, error) {
	n := pick(b, 12000, 3000)
	if err := r.sink.reset(0); err != nil {
		return figure{}, err
	}
	var turns [riderOrders]struct {
		sync.Mutex
		next int
	}
	began := time.Now()
	if _, err := atRate(ctx, statusRate, n, orderConnections, func(i int) error {
		turn := &turns[i%riderOrders]
		turn.Lock()
		defer turn.Unlock()
		status := riderStates[turn.next%len(riderStates)][0]
		turn.next++
		return r.statuses.post(fmt.Appendf(nil, `{"order_id":%d,"status":%q}`, r.orders[i%riderOrders], status))
	}); err != nil {
		return figure{}, err
	}
	byOrder, last, err := r.relayed("/delivery-state", n, 30*time.Second)
	if err != nil {
		return figure{}, err
	}
	wrong := 0
	for _, list := range byOrder {
		for k, a := range list {
			if !strings.Contains(a.Head, `"`+riderStates[k%len(riderStates)][1]+`"`) {
				wrong++
			}
		}
	}
	f := figure{Name: "riders/statuses", Unit: perSecond, Measured: float64(n) / last.Sub(began).Seconds()}
	return f.judged(">= 950/s, in order", f.Measured >= 950 && wrong == 0).noted(fmt.Sprintf(
		"relayed, of %d posted at %.0f/s over %d orders; %d out of order", n, statusRate, riderOrders, wrong)), nil
}
