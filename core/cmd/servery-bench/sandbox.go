package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// rushRate is how many orders a second a rush places.
const rushRate = 200

// measureRush lets customers be played by `servery simulate rush`, from the
// store's own menu, and tells how soon their orders arrive at the endpoint.
func measureRush(ctx context.Context, b *bench) ([]figure, error) {
	o, err := openOrderBench(ctx, b, "rush")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("rush", b.log)
	defer o.close()
	s, err := o.shop(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.listen(ctx, s); err != nil {
		return nil, err
	}
	if err := o.sink.reset(0); err != nil {
		return nil, err
	}
	lasts := pick(b, time.Minute, 10*time.Second)
	answers, err := o.rush(ctx, b, s, lasts)
	if err != nil {
		return nil, err
	}
	n := int(rushRate * lasts.Seconds())
	if _, err := o.lastOf(n, 0); err != nil {
		return nil, err
	}
	came, err := o.sink.arrivals()
	if err != nil {
		return nil, err
	}
	took := make([]float64, len(came))
	for i, a := range came {
		id, err := uuid.Parse(a.ID)
		if err != nil {
			return nil, err
		}
		seconds, nanoseconds := id.Time().UnixTime() // of the order's storing, to the millisecond
		took[i] = inMilliseconds(time.Unix(0, a.At).Sub(time.Unix(seconds, nanoseconds)))
	}
	arrival := figure{Name: "sandbox/rush", Unit: milliseconds, Measured: percentile(took, 99)}
	return []figure{arrival.judged("< 200 ms", arrival.Measured < 200).noted(fmt.Sprintf(
		"99%% of %d orders that `servery simulate rush` placed at %d/s from the store's menu, from the hub to the endpoint, all delivered; median %.1f ms; answers: 99%% within %.1f ms",
		n, rushRate, percentile(took, 50), answers))}, nil
}

// rush plays a rush to its end and tells within how many milliseconds 99% of its
// orders were answered; one that was not taken is an error.
func (o *orderBench) rush(ctx context.Context, b *bench, s shop, lasts time.Duration) (float64, error) {
	address, err := b.pg.address("rush")
	if err != nil {
		return 0, err
	}
	play := exec.CommandContext(ctx, b.Hub, "simulate", "rush", "--business", strconv.FormatInt(int64(s.business), 10), "--store", orderedStore,
		"--platform", "web", "--rate", strconv.Itoa(rushRate), "--for", lasts.String(), "--seed", "1", "--json")
	play.Env = append(withoutSettings(os.Environ()), "SERVERY_DATABASE_URL="+address, "SERVERY_SECRET_KEY="+secretKey,
		"SERVERY_DATA_DIR="+filepath.Join(b.scratch, "rush"), "SERVERY_BASE_URL="+o.hub.base)
	play.Stderr = os.Stderr
	said, err := play.Output()
	if err != nil {
		return 0, fmt.Errorf("simulating a rush: %w", err)
	}
	var report struct {
		Calls []struct {
			Call string
			P99  float64 `json:"p99_ms"`
		}
	}
	if err := json.Unmarshal(said, &report); err != nil || len(report.Calls) != 1 {
		return 0, fmt.Errorf("the report of a rush cannot be read: %w: %s", err, said)
	}
	return report.Calls[0].P99, nil
}
