package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// measureOrderRetry has orders that failed for good sent again by one request,
// and beside it as many deliveries worked off that wait.
func measureOrderRetry(ctx context.Context, b *bench) ([]figure, error) {
	n := pick(b, 10000, 2000)
	floor, err := drainOnce(ctx, b, n)
	if err != nil {
		return nil, err
	}
	o, err := openOrderBench(ctx, b, "orderretry")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("orderretry", b.log)
	defer o.close()
	s, err := o.shop(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.listen(ctx, s); err != nil {
		return nil, err
	}
	if _, err := subscribe(ctx, o.db, s.business, core.WebhookRetry, o.sink.at("", "/callback"), webhook.Minutes); err != nil {
		return nil, err
	}
	since := time.Now()
	if err := o.fail(ctx, s, n); err != nil {
		return nil, err
	}
	if err := o.sink.reset(0); err != nil {
		return nil, err
	}
	taken, err := o.hub.postRetry(ctx, s.tenant, since)
	if err != nil {
		return nil, err
	}
	seen, err := o.follow(ctx, s, taken.reference, n)
	if err != nil {
		return nil, err
	}
	last, err := o.lastOf(n, 1)
	if err != nil {
		return nil, err
	}
	f := medianFigure("orders/retry", perSecond, []float64{float64(n) / last.Sub(taken.sent).Seconds()}).against([]float64{floor})
	return []figure{f.judged(">= 80%", *f.Ratio >= 0.8).noted(fmt.Sprintf(
		"%d failed orders, POST to last arrival; its progress was read %d times on the way; floor: a drain of as many", n, seen))}, nil
}

// drainOnce tells how many of n waiting deliveries the engine makes a second.
func drainOnce(ctx context.Context, b *bench, n int) (float64, error) {
	r, err := openReplica(ctx, b, "retrydrain", webhook.Minutes)
	if err != nil {
		return 0, err
	}
	defer b.pg.drop("retrydrain", b.log)
	defer r.close()
	if err := r.fillQueue(ctx, n); err != nil {
		return 0, err
	}
	return r.drain(ctx, b, n)
}

// fail places n orders that the sink refuses, and then ends their deliveries as
// six attempts would have.
func (o *orderBench) fail(ctx context.Context, s shop, n int) error {
	if err := o.sink.reset(1); err != nil {
		return err
	}
	if _, err := o.place(s.orders, n); err != nil {
		return err
	}
	if err := o.until(ctx, int64(n), `SELECT count(*) FROM delivery_queue WHERE business_id = ? AND attempts = 1`, s.business); err != nil {
		return fmt.Errorf("waiting for %d refused attempts: %w", n, err)
	}
	_, err := o.menuBench.floor.bun.ExecContext(ctx, `WITH over AS (DELETE FROM delivery_queue WHERE business_id = ? RETURNING *)
		INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at)
		SELECT business_id, id, event_id, event_type, webhook_id, ?, 'failed', ?, 500, now() FROM over`,
		s.business, o.sink.url, webhook.MaxAttempts)
	return err
}

// until waits until a count has come to what is wanted.
func (o *orderBench) until(ctx context.Context, want int64, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		got, err := o.menuBench.floor.count(ctx, query, args...)
		if err != nil || got == want {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s is %d, not %d: %w", query, got, want, err)
		}
	}
}

// follow reads a job until it is done and tells how often its progress was
// seen between its beginning and its end.
func (o *orderBench) follow(ctx context.Context, s shop, reference string, n int) (seen int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.hub.base+"/external/api/v1/jobs/"+reference+"/", nil)
		if err != nil {
			return seen, err
		}
		request.Header.Set("Authorization", s.authorization)
		answer, err := o.hub.do(request)
		if err != nil {
			return seen, err
		}
		var job struct {
			State string
			Done  int `json:"objects_done"`
		}
		if err := json.Unmarshal(answer, &job); err != nil {
			return seen, fmt.Errorf("reading a job: %w", err)
		}
		switch {
		case job.State == "done" && job.Done != n:
			return seen, fmt.Errorf("the job is done after %d of %d orders: %s", job.Done, n, answer)
		case job.State == "done":
			return seen, nil
		case job.State == "failed":
			return seen, fmt.Errorf("the job failed: %s", answer)
		case job.Done > 0:
			seen++
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return seen, err
		}
	}
}
