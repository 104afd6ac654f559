package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// run is a measurement in progress. It behaves like a test: a failure ends it, and cleanups run afterwards. It
// implements as much of testing.TB as hubtest calls.
type run struct {
	testing.TB
	*bench
	measurement
	ctx      context.Context
	cleanups []func()
	figures  map[string]*figures.Figure
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

// measure makes one measurement, and returns its figures in the order of the table. After a failure, those that were
// not measured have its error.
func (b *bench) measure(ctx context.Context, m measurement) (measured []figures.Figure) {
	r := &run{bench: b, measurement: m, ctx: ctx, figures: map[string]*figures.Figure{}}
	failed := ""
	if err := attempt(func() {
		defer r.close()
		m.measure(r)
	}); err != nil {
		failed = err.Error()
	}
	for _, one := range m.rows {
		f := r.figures[one.Name]
		switch {
		case f != nil:
			f.Evaluate()
			measured = append(measured, *f)
		case b.selected(one):
			measured = append(measured, figures.Figure{Name: one.Name, Error: cmp.Or(failed, "not measured")})
		}
	}
	return measured
}

// add adds the figure of a row.
func (r *run) add(name string, rounds ...float64) *figures.Figure {
	i := slices.IndexFunc(r.rows, func(one figures.Figure) bool { return one.Name == name })
	verify(i >= 0, "%s is no row of this measurement", name)
	f := r.rows[i]
	r.figures[name] = f.Measure(rounds...)
	return &f
}

// alternate adds a figure with its floor. It measures both in each round.
func (r *run) alternate(name string, rounds int, floor, work func() float64) *figures.Figure {
	values := inTurn(rounds, floor, work)
	return r.add(name, values[1]...).Against(values[0])
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

// close runs the cleanups, the latest first, all of them even if one panics.
func (r *run) close() {
	if last := len(r.cleanups) - 1; last >= 0 {
		cleanup := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		defer r.close()
		cleanup()
	}
}

func (r *run) Cleanup(cleanup func())   { r.cleanups = append(r.cleanups, cleanup) }
func (r *run) Context() context.Context { return r.ctx }
func (r *run) Failed() bool             { return false }
func (r *run) Fatal(args ...any)        { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *run) Helper()                  {}
func (r *run) Name() string             { return r.rows[0].Name }

// Errorf ends the measurement (testing.TB).
func (r *run) Errorf(format string, args ...any) {
	verify(false, "%s", strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

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

// until polls a condition, and ends the measurement if it does not become true in time.
func (r *run) until(within time.Duration, what string, done func() bool) {
	for began := time.Now(); !done(); r.pause(20 * time.Millisecond) {
		verify(time.Since(began) < within, "%s: not within %v", what, within)
	}
}

// pause waits, or ends the measurement if the run ends first.
func (r *run) pause(d time.Duration) { check(postgres.Pause(r.ctx, d)) }

// timed is how many milliseconds the work takes.
func timed(work func()) float64 {
	began := time.Now()
	work()
	return inMilliseconds(time.Since(began))
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// throughput does n pieces of work from so many goroutines, and returns how many a second.
func throughput(n, goroutines int, work func(i int)) float64 {
	return 1000 * float64(n) / timed(func() { inParallel(n, goroutines, work) })
}

// inParallel does n pieces of work from so many goroutines. A goroutine that fails ends.
func inParallel(n, goroutines int, work func(i int)) {
	var next atomic.Int64
	var running errgroup.Group
	for range goroutines {
		running.Go(func() error {
			return attempt(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					work(i)
				}
			})
		})
	}
	check(running.Wait())
}

// atRate begins n pieces of work at an even rate, and returns how many milliseconds after its time each ended. One
// that had to wait for one of the goroutines has waited as well.
func (r *run) atRate(rate float64, n int, work func(i int)) []float64 {
	took, began := make([]float64, n), time.Now()
	inParallel(n, connections, func(i int) {
		due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		r.pause(time.Until(due))
		work(i)
		took[i] = inMilliseconds(time.Since(due))
	})
	return took
}

// sent is a piece of work that was sent.
type sent struct {
	key             string // which its arrival has
	began, returned time.Time
}

// sendAtRate sends n pieces of work at an even rate. The work returns its key.
func (r *run) sendAtRate(rate float64, n int, work func(i int) (key string)) []sent {
	all := make([]sent, n)
	r.atRate(rate, n, func(i int) {
		all[i].began = time.Now()
		all[i].key = work(i)
		all[i].returned = time.Now()
	})
	return all
}

// latencies are the milliseconds from each beginning, and from each return, until the arrival.
func latencies(all []sent, arrivals map[string][]Arrival) (whole, after []float64) {
	for _, one := range all {
		verify(arrivals[one.key] != nil, "%s did not arrive", one.key)
		at := arrivals[one.key][0].At
		whole = append(whole, inMilliseconds(at.Sub(one.began)))
		after = append(after, inMilliseconds(at.Sub(one.returned)))
	}
	return whole, after
}

// grow measures the same work in the sizes of the rows, and adds their figures. The largest is compared with that at
// the index floor. The first round does not count.
func (r *run) grow(floor, rounds int, work func(size int) func() float64) (grown []*figures.Figure) {
	var parts []func() float64
	for _, one := range r.rows {
		parts = append(parts, work(int(one.At)))
	}
	values := inTurn(1+rounds, parts...)
	for i, one := range r.rows {
		grown = append(grown, r.add(one.Name, values[i][1:]...))
	}
	grown[len(grown)-1].Against(values[floor][1:])
	return grown
}
