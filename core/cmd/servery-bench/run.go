package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
)

// run is a measurement in progress. It behaves like a test: a failure ends it, and cleanups run afterwards. It
// implements as much of testing.TB as hubtest calls.
type run struct {
	testing.TB
	*bench
	name     string
	ctx      context.Context
	cleanups []func()
	figures  []figure
}

// failure is what ends a measurement.
type failure struct{ error }

// attempt does the work, and returns its failure.
func attempt(work func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	work()
	return nil
}

// measure makes one measurement. A failure becomes a figure with an error, after those that were measured.
func (b *bench) measure(ctx context.Context, m measurement) []figure {
	r := &run{bench: b, name: m.names[0], ctx: ctx}
	err := attempt(func() {
		defer r.close()
		m.measure(r)
	})
	if err != nil {
		r.add(figure{Name: r.name, Error: err.Error()})
	}
	return r.figures
}

// close runs the cleanups, the latest first, all of them even if one panics.
func (r *run) close() {
	if last := len(r.cleanups) - 1; last >= 0 {
		cleanup := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		defer r.close()
		cleanup()
	}
}

// Cleanup registers a function to run at the end (testing.TB).
func (r *run) Cleanup(cleanup func()) { r.cleanups = append(r.cleanups, cleanup) }

// Helper does nothing (testing.TB).
func (r *run) Helper() {}

// Name is that of the first figure (testing.TB).
func (r *run) Name() string { return r.name }

// Errorf ends the measurement (testing.TB).
func (r *run) Errorf(format string, args ...any) {
	verify(false, "%s", strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// Fatal ends the measurement (testing.TB).
func (r *run) Fatal(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

// check ends the measurement if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is the value, or ends the measurement if there is an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// verify ends the measurement with the message unless ok.
func verify(ok bool, format string, args ...any) {
	if !ok {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

// add adds figures to the table.
func (r *run) add(figures ...figure) { r.figures = append(r.figures, figures...) }

// until polls a condition, and ends the measurement if it does not become true in time.
func (r *run) until(within time.Duration, what string, done func() bool) {
	for began := time.Now(); !done(); r.pause(20 * time.Millisecond) {
		verify(time.Since(began) < within, "%s: not within %v", what, within)
	}
}

// pause waits, or ends the measurement if the run ends first.
func (r *run) pause(d time.Duration) { check(pause(r.ctx, d)) }

// pause waits, or fails if the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// inTurn runs all parts in every round, each time starting with another, and returns the values of each.
func inTurn(rounds int, parts ...func() float64) [][]float64 {
	values := make([][]float64, len(parts))
	for round := range rounds {
		for turn := range parts {
			i := (round + turn) % len(parts)
			values[i] = append(values[i], parts[i]())
		}
	}
	return values
}

// timed is how many milliseconds the work takes.
func timed(work func()) float64 {
	began := time.Now()
	work()
	return inMilliseconds(time.Since(began))
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// connections is how many the load uses at once.
const connections = 64

// poster posts bodies as cheaply as possible, each goroutine over its own connection.
type poster struct {
	client        *fasthttp.HostClient
	uri           string
	authorization string
}

func (r *run) newPoster(host, path, authorization string) *poster {
	p := &poster{&fasthttp.HostClient{Addr: host, MaxConns: connections, ReadTimeout: 20 * time.Second,
		WriteTimeout: 20 * time.Second}, "http://" + host + path, authorization}
	r.Cleanup(p.client.CloseIdleConnections)
	return p
}

// post posts a body. It ends the measurement unless the response is 200.
func (p *poster) post(body []byte) {
	status, content, err := p.try(body)
	check(err)
	verify(status == fasthttp.StatusOK, "%s: %d: %s", p.uri, status, content)
}

// try posts a body.
func (p *poster) try(body []byte) (status int, content string, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(p.uri)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	if p.authorization != "" {
		request.Header.Set("Authorization", p.authorization)
	}
	request.SetBodyRaw(body)
	err = p.client.Do(request, response)
	if status = response.StatusCode(); status != fasthttp.StatusOK {
		content = string(response.Body())
	}
	return status, content, err
}

// inParallel does n pieces of work from so many goroutines. After a failure it begins no more, and fails.
func inParallel(n, goroutines int, work func(i int)) {
	var next atomic.Int64
	parallel(goroutines, func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			work(i)
		}
	}, func() { next.Store(int64(n)) })
}

// atRate begins n pieces of work at an even rate, and returns how many milliseconds after its time each ended. One
// that had to wait for one of the goroutines has waited as well.
func atRate(ctx context.Context, rate float64, n int, work func(i int)) []float64 {
	due, took, began := make(chan int, n), make([]float64, n), time.Now()
	at := func(i int) time.Time { return began.Add(time.Duration(float64(i) / rate * float64(time.Second))) }
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(due)
		for i := range n {
			if pause(ctx, time.Until(at(i))) != nil {
				return
			}
			due <- i
		}
	}()
	parallel(connections, func() {
		for i := range due {
			work(i)
			took[i] = inMilliseconds(time.Since(at(i)))
		}
	}, stop)
	check(ctx.Err())
	return took
}

// parallel runs the work in so many goroutines. After the first failure it calls stop, and fails at the end.
func parallel(goroutines int, work, stop func()) {
	var running errgroup.Group
	for range goroutines {
		running.Go(func() error {
			err := attempt(work)
			if err != nil {
				stop()
			}
			return err
		})
	}
	check(running.Wait())
}
