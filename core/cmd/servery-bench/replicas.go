package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// slowAnswer is how long the endpoint of this figure takes for an answer: so
// long that a replica waits for it and not for a processor.
const slowAnswer = 100 * time.Millisecond

// measureReplicas posts the same number of events to an endpoint that takes its
// time by one built hub and by two. A replica has so many requests under way at an
// endpoint and no more, so that with answers as slow as these its waiting, and not
// the machine's two processors, is what bounds it: what a second one brings can be
// seen beside database, load and endpoint on the same machine.
func measureReplicas(ctx context.Context, b *bench) ([]figure, error) {
	r, err := openReplica(ctx, b, "replicas", webhook.Seconds)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("replicas", b.log)
	defer r.close()
	slow, err := startSlowEndpoint(ctx)
	if err != nil {
		return nil, err
	}
	defer slow.server.Close()
	if _, err := subscribe(ctx, r.db, r.business, core.OrderStatusUpdate, slow.url, webhook.Seconds); err != nil {
		return nil, err
	}
	address, err := b.pg.address("replicas")
	if err != nil {
		return nil, err
	}
	n, rounds := pick(b, 2000, 800), pick(b, 3, 2)
	var one, two []float64
	for round := range rounds {
		for _, hubs := range []int{1, 2} {
			rate, err := r.throughHubs(ctx, b, fmt.Sprintf("replicas-%d", 2*round+hubs), address, slow, hubs, n)
			if err != nil {
				return nil, fmt.Errorf("%d replicas: %w", hubs, err)
			}
			if hubs == 1 {
				one = append(one, rate)
			} else {
				two = append(two, rate)
			}
		}
	}
	both := medianFigure("replicas/two", perSecond, two).against(one)
	return []figure{both.judged(">= 160%", *both.Ratio >= 1.6).noted(fmt.Sprintf(
		"%d deliveries to one endpoint that answers after %v, so that waiting and not the processor bounds a replica; hubs of role worker with GOMAXPROCS=1; floor: one replica",
		n, slowAnswer))}, nil
}

// throughHubs starts hubs, publishes n events at once, and tells how many a second
// arrived, from the first to the last.
func (r *replica) throughHubs(ctx context.Context, b *bench, name, address string, slow *slowEndpoint, hubs, n int) (float64, error) {
	for i := range hubs {
		hub, err := startHub(ctx, b, fmt.Sprintf("%s-%d", name, i+1), address, "SERVERY_ROLES=worker", "GOMAXPROCS=1")
		if err != nil {
			return 0, err
		}
		defer hub.stop()
	}
	slow.expect(n)
	if err := r.publishTogether(ctx, n, func(i int) core.Event {
		event := r.event(i)
		event.Type = core.OrderStatusUpdate
		return event
	}); err != nil {
		return 0, err
	}
	select {
	case <-slow.all:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("only %d of %d deliveries arrived", slow.came.Load(), n)
	}
	return float64(n) / time.Since(time.Unix(0, slow.first.Load())).Seconds(), nil
}

// slowEndpoint takes its time for every answer.
type slowEndpoint struct {
	url    string
	server *http.Server
	wanted int64
	all    chan struct{} // closed when as many came as are wanted
	came   atomic.Int64
	first  atomic.Int64 // when the first came, in Unix nanoseconds
}

func startSlowEndpoint(ctx context.Context) (*slowEndpoint, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &slowEndpoint{url: "http://" + listener.Addr().String() + "/hook"}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = e.server.Serve(listener) }() // until it is closed
	return e, nil
}

// expect begins to count anew. Nothing may be under way.
func (e *slowEndpoint) expect(n int) {
	e.came.Store(0)
	e.wanted, e.all = int64(n), make(chan struct{})
}

// ServeHTTP counts a delivery and answers it after a while.
func (e *slowEndpoint) ServeHTTP(http.ResponseWriter, *http.Request) {
	now := time.Now()
	came := e.came.Add(1)
	if came == 1 {
		e.first.Store(now.UnixNano())
	}
	time.Sleep(slowAnswer)
	if came == e.wanted {
		close(e.all)
	}
}
