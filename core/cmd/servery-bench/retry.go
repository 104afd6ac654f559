package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// measureRetry has the first attempts of deliveries refused and tells how late
// every retry came: its arrival less the answer before it less the wait.
func measureRetry(ctx context.Context, b *bench) ([]figure, error) {
	const n = 100
	failures := pick(b, webhook.MaxAttempts-1, 3)
	r, err := openReplica(ctx, b, "retry", webhook.Seconds)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("retry", b.log)
	defer r.close()
	if err := r.sink.reset(failures); err != nil {
		return nil, err
	}
	attempts := n * (failures + 1)
	r.start(b, attempts)
	if err := r.publish(ctx, n); err != nil {
		return nil, err
	}
	if err := r.awaitRecorded(ctx, 50*time.Second); err != nil {
		return nil, err
	}
	if err := r.check(ctx, n, attempts); err != nil {
		return nil, err
	}
	came, err := r.sink.byID()
	if err != nil {
		return nil, err
	}
	late, err := lateness(came, failures+1)
	if err != nil {
		return nil, err
	}
	earliest, p99, latest := percentile(late, 0), percentile(late, 99), percentile(late, 100)
	first := figure{Name: "deliveries/retry p99", Unit: milliseconds, Measured: p99,
		Note: fmt.Sprintf("lateness of %d retries of %d deliveries, units seconds; median %.2f ms", len(late), n, median(late))}
	last := figure{Name: "deliveries/retry max", Unit: milliseconds, Measured: latest,
		Note: fmt.Sprintf("the earliest %.2f ms after due", earliest)}
	return []figure{first.judged("< 100 ms", p99 < 100), last.judged("< 100 ms", latest < 100 && earliest >= 0)}, nil
}

// lateness is how late each retry was, in milliseconds, by the schedule in
// seconds. Every delivery must have come as often as it should.
func lateness(came map[string][]arrival, attempts int) ([]float64, error) {
	var late []float64
	for id, list := range came {
		if len(list) != attempts {
			return nil, fmt.Errorf("delivery %s came %d times, not %d", id, len(list), attempts)
		}
		slices.SortFunc(list, func(a, b arrival) int { return int(a.At - b.At) })
		for i := 1; i < len(list); i++ {
			wait, _ := webhook.RetryAfter(i, webhook.Seconds)
			late = append(late, inMilliseconds(time.Duration(list[i].At-list[i-1].Answered)-wait))
		}
	}
	return late, nil
}
