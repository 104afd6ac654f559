package webhook

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// policy is how the engine processes its queue (queue.Policy).
type policy struct{ *Engine }

// Claim leases due deliveries, with large bodies as far as their bound allows.
func (p policy) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (queue.Batch[Delivery], error) {
	batch, err := p.queue.Claim(ctx, owner, Capacity{capacity, p.bodies.free()}, until)
	if err != nil {
		return batch, err
	}
	for i := range batch.Items {
		p.bodies.retain(&batch.Items[i])
	}
	return batch, nil
}

// Lease describes a leased delivery. Probes and manual resends start although the endpoint fails.
func (policy) Lease(d Delivery) queue.Lease {
	return queue.Lease{ID: d.ID.String(), Key: d.Endpoint, From: d.StartAt, Until: d.LeasedUntil,
		Urgent: d.Probe || d.Manual}
}

// Run makes one attempt. If the webhook has changed since the delivery was read, the delivery is released instead.
func (p policy) Run(ctx context.Context, d Delivery) (Result, queue.Outcome) {
	if p.versions.isStale(d) {
		return Result{}, queue.Outcome{Next: queue.Release}
	}
	ctx, span := p.config.Tracer.Start(d.Trace.NewContext(ctx), core.ClientSpan, "deliver", string(d.EventType))
	d.Trace = core.TraceFromContext(ctx)
	record := p.post(ctx, d)
	span.SetInt64("servery.business", int64(d.Business))
	span.SetInt64("servery.webhook", d.WebhookID)
	span.SetString("servery.event", d.EventID.String())
	span.SetString("servery.delivery", d.ID.String())
	span.SetInt64("servery.attempt", int64(d.Attempts+1))
	span.SetInt64("http.response.status_code", int64(record.Status))
	span.End(record.Error)
	if queue.Abandoned(ctx) && !record.Responded() {
		return Result{}, queue.Outcome{Next: queue.Release}
	}
	result := resultOf(d, record, p.clock.Now())
	p.observer.Attempted(result, record.StartedAt.Sub(d.DueAt))
	p.report(result)
	p.releaseBody(d)
	result.Delivery.Body = nil
	if record.Responded() {
		return result, queue.Outcome{Response: queue.Responded}
	}
	return result, queue.Outcome{Response: queue.NoResponse}
}

// post makes an attempt. A panic fails it, instead of ending the process.
func (p policy) post(ctx context.Context, d Delivery) (record Attempt) {
	began := p.clock.Now()
	defer func() {
		if cause := recover(); cause != nil {
			p.log.Error("making an attempt failed", "delivery", d.ID, "panic", cause, "stack", string(debug.Stack()))
			record = Attempt{StartedAt: began, URL: d.URL, ErrorClass: Protocol, Error: "the hub failed"}
		}
	}()
	return p.poster.Post(ctx, d)
}

// Finish records attempts. A retry may be due before the next claim.
func (p policy) Finish(ctx context.Context, owner core.ID, results []Result) (queue.FinishResult, error) {
	effect, err := p.queue.Finish(ctx, owner, results, p.config.Circuit)
	effect.Due = effect.Due || slices.ContainsFunc(results, func(r Result) bool { return r.State == Pending })
	return effect, err
}

// Release returns deliveries to the queue.
func (p policy) Release(ctx context.Context, owner core.ID, deliveries []Delivery) error {
	for _, d := range deliveries {
		p.releaseBody(d)
	}
	return p.queue.Release(ctx, owner, deliveries)
}

// releaseBody frees the body of a delivery. It wakes the engine if the last claim had to leave large bodies.
func (e *Engine) releaseBody(d Delivery) {
	if e.bodies.release(d) {
		e.Wake()
	}
}

// report logs an attempt: a failure at info or warn level, a success at debug level.
func (e *Engine) report(r Result) {
	level := slog.LevelInfo
	switch {
	case r.Attempt.OK():
		level = slog.LevelDebug
	case r.State == Failed || r.Disable:
		level = slog.LevelWarn
	}
	if !e.log.Enabled(context.Background(), level) {
		return
	}
	log := e.log
	if id := r.Delivery.Trace.ID(); id != "" {
		log = log.With("trace_id", id)
	}
	log.LogAttrs(context.Background(), level, "delivery attempt",
		slog.String("delivery", r.Delivery.ID.String()), slog.String("event", r.Delivery.EventID.String()),
		slog.String("event_type", string(r.Delivery.EventType)), slog.Int64("business", int64(r.Delivery.Business)),
		slog.Int64("webhook", r.Delivery.WebhookID), slog.Int("attempt", r.Delivery.Attempts+1),
		slog.Int("status", r.Attempt.Status), slog.String("state", string(r.State)),
		slog.Bool("disabled", r.Disable),
		slog.String("error", r.Attempt.Error), slog.Duration("took", r.Attempt.Timing.Total))
}
