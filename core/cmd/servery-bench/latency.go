package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// eventsPerSecond is the rate at which latency is measured.
const eventsPerSecond = 50

// steadily begins n pieces of work, so many a second at an even rate, whether or
// not earlier ones have ended, and waits for all of them.
func steadily(ctx context.Context, rate, n int, work func(i int) error) error {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		first   error
	)
	for i := range n {
		select {
		case <-ctx.Done():
			running.Wait()
			return ctx.Err()
		case <-tick.C:
		}
		running.Go(func() {
			if err := work(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				first = err
			}
		})
	}
	running.Wait()
	return first
}

// measureLatency publishes at a steady rate and tells how long after its
// commit each event arrived.
func measureLatency(ctx context.Context, b *bench) ([]figure, error) {
	warm, n := eventsPerSecond, eventsPerSecond*pick(b, 20, 5)
	r, err := openReplica(ctx, b, "latency", webhook.Minutes)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("latency", b.log)
	defer r.close()
	if err := r.sink.reset(0); err != nil {
		return nil, err
	}
	r.start(b, warm+n)
	began, returned, ids := make([]time.Time, warm+n), make([]time.Time, warm+n), make([]string, warm+n)
	if err := steadily(ctx, eventsPerSecond, warm+n, func(i int) error {
		event := r.event(i)
		ids[i], began[i] = event.ID.String(), time.Now()
		err := r.db.Publish(ctx, event)
		returned[i] = time.Now()
		return err
	}); err != nil {
		return nil, err
	}
	if err := r.sink.await(warm+n, 10*time.Second); err != nil {
		return nil, err
	}
	came, err := r.sink.byID()
	if err != nil {
		return nil, err
	}
	var after, whole []float64
	for i := warm; i < warm+n; i++ {
		at := time.Unix(0, came[ids[i]][0].At)
		after = append(after, inMilliseconds(at.Sub(returned[i])))
		whole = append(whole, inMilliseconds(at.Sub(began[i])))
	}
	if err := r.awaitRecorded(ctx, 10*time.Second); err != nil {
		return nil, err
	}
	p50, p99 := percentile(after, 50), percentile(after, 99)
	middle := figure{Name: "deliveries/latency median", Unit: milliseconds, Measured: p50,
		Note: fmt.Sprintf("%d events at %d/s, commit to arrival; with the commit %.2f ms", n, eventsPerSecond, percentile(whole, 50))}
	slow := figure{Name: "deliveries/latency p99", Unit: milliseconds, Measured: p99,
		Note: fmt.Sprintf("at most %.2f ms; with the commit %.2f ms", percentile(after, 100), percentile(whole, 99))}
	return []figure{middle.judged("< 2 ms", p50 < 2), slow.judged("< 10 ms", p99 < 10)}, nil
}

// measureCallbackLatency posts requests of one store at a steady rate to the
// built hub and tells how long each took until its callback arrived.
func measureCallbackLatency(ctx context.Context, b *bench) ([]figure, error) {
	warm, n := eventsPerSecond, eventsPerSecond*pick(b, 20, 5)
	s, err := openStoreBench(ctx, b, "callback")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("callback", b.log)
	defer s.close()
	who, err := s.business(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.sink.reset(0); err != nil {
		return nil, err
	}
	taken := make([]accepted, warm+n)
	if err := steadily(ctx, eventsPerSecond, warm+n, func(i int) (err error) {
		body := fmt.Appendf(nil, `{"stores":[{"ref_id":"S-%d","name":"Harbour Street %d","city":"Oakland"}]}`, i, i)
		taken[i], err = s.hub.postStores(ctx, who, body)
		return err
	}); err != nil {
		return nil, err
	}
	if err := s.sink.await(warm+n, 10*time.Second); err != nil {
		return nil, err
	}
	came, err := s.byReference()
	if err != nil {
		return nil, err
	}
	var whole, after []float64
	for _, request := range taken[warm:] {
		at, found := came[request.reference]
		if !found {
			return nil, fmt.Errorf("the callback of %s did not arrive", request.reference)
		}
		whole = append(whole, inMilliseconds(at.Sub(request.sent)))
		after = append(after, inMilliseconds(at.Sub(request.answered)))
	}
	note := fmt.Sprintf("%d requests of one store at %d/s, POST to callback; from the answer %.2f ms", n, eventsPerSecond, percentile(after, 50))
	return []figure{
		{Name: "stores/callback median", Unit: milliseconds, Measured: percentile(whole, 50), Note: note},
		{Name: "stores/callback p99", Unit: milliseconds, Measured: percentile(whole, 99),
			Note: fmt.Sprintf("at most %.2f ms; from the answer %.2f ms", percentile(whole, 100), percentile(after, 99))},
	}, nil
}

// Where a callback's body holds the reference of its request.
const (
	referenceStart = len(`{"reference":"`)
	referenceEnd   = referenceStart + len("00000000-0000-7000-8000-000000000000")
)

// byReference tells when the callback of each request came.
func (s *storeBench) byReference() (map[string]time.Time, error) {
	list, err := s.sink.arrivals()
	if err != nil {
		return nil, err
	}
	came := make(map[string]time.Time, len(list))
	for _, a := range list {
		if len(a.Head) >= referenceEnd {
			came[a.Head[referenceStart:referenceEnd]] = time.Unix(0, a.At)
		}
	}
	return came, nil
}
