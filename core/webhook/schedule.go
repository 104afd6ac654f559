package webhook

import "time"

// MaxAttempts is the first attempt and five retries, after 1, 2, 4, 8 and 16 units (spec, Delivery rules: 2^n with n
// from 0 to 4).
const MaxAttempts = 6

// RetryAfter returns the delay after the given number of failed attempts. It returns false when the delivery has
// failed for good.
func RetryAfter(attempts int, units Units) (time.Duration, bool) {
	if attempts < 1 || attempts >= MaxAttempts {
		return 0, false
	}
	unit := time.Minute
	if units == Seconds {
		unit = time.Second
	}
	return unit << (attempts - 1), true
}

// judge returns the result of an attempt that ended at the given time. A 410 response means that the endpoint wants
// no more deliveries. A subscription is then disabled and its deliveries are held until it is enabled. A callback_url
// is not retried.
func judge(d Delivery, a Attempt, ended time.Time) Result {
	r := Result{Delivery: d, Attempt: a, State: Delivered}
	if a.OK() {
		return r
	}
	wait, more := RetryAfter(d.Attempts-d.Base+1, d.Units)
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
