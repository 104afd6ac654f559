package webhook

import (
	"time"

	"github.com/servery-hub/servery/core/retry"
)

// Schedule returns the schedule of a webhook's deliveries.
func (u Units) Schedule() retry.Schedule {
	if u == Seconds {
		return retry.Default(time.Second)
	}
	return retry.Default(time.Minute)
}

// resultOf returns the result of an attempt that ended at the given time. A 410 response means that the endpoint wants
// no more deliveries. A subscription is then disabled and its deliveries are held until it is enabled. A callback_url
// is not retried.
func resultOf(d Delivery, a Attempt, ended time.Time) Result {
	r := Result{Delivery: d, Attempt: a, State: Delivered}
	if a.OK() {
		return r
	}
	wait, more := d.Units.Schedule().After(d.Attempts - d.AttemptsBeforeRestart + 1)
	if a.ErrorClass == Gone {
		r.Disable = d.WebhookID != 0
		more = more && r.Disable
	}
	if !more {
		r.State = Failed
		return r
	}
	r.State, r.RetryAt = Pending, ended.Add(wait)
	return r
}
