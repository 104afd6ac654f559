package relay

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Bounds of plans that take several attempts.
const (
	// longPlan is the number of steps above which a plan is long. Of its requests, not all are recorded.
	longPlan = 10
	// recordedStep is the interval of the recorded steps of a long plan, after the first ones.
	recordedStep = 25
	// fullStepTime is the time of a whole exchange, with some to spare. If the call continues anyway, a later attempt
	// makes the request instead of cutting it off.
	fullStepTime = 6 * time.Second
)

// continuesAt reports whether a call continues at a time where this attempt ended. An attempt without progress does
// not: it uses up the retries of the call.
func (s *sequence) continuesAt(at time.Time) bool { return s.progress && s.reusableAt(at) }

// leastTime returns the time that a request after the first needs.
func (s *sequence) leastTime() time.Duration {
	if s.continuesAt(s.Clock.Now()) {
		return fullStepTime
	}
	return minStepTime
}

// continued returns the result of an attempt whose time is over. The next one continues at once, and none is used.
func (s *sequence) continued() Result {
	now := s.Clock.Now()
	result := delayUnavailable(s.call, fmt.Sprintf("%d of %d steps are completed", len(s.stored.Steps), s.count), now)
	result.RetryAt, result.Earlier, result.Omitted = now, s.earlier, s.omitted
	return result
}

// complete records a successful step, and keeps its response for the plugin. Of a long plan, the plugin receives only
// the status of each step, as of those that are reused.
func (s *sequence) complete(i int, r stepResult, recorded int) {
	if s.count <= longPlan {
		s.earlier, s.responses = append(s.earlier, r.attempt), append(s.responses, r.response)
		return
	}
	s.received = 0
	s.responses = append(s.responses, Response{Step: r.response.Step, Status: r.response.Status})
	if i < longPlan || i%recordedStep == 0 {
		s.earlier = append(s.earlier, r.attempt)
		return
	}
	s.earlier = s.earlier[:recorded] // without its token requests
	s.omitted++
}

// end returns the result of the last request of an attempt. If the aggregator throttles after progress, the call
// continues later, and no attempt is used.
func (s *sequence) end(ctx context.Context, r stepResult, interpret Interpret) Result {
	throttled := false
	if r.attempt.Status == http.StatusTooManyRequests {
		now := s.Clock.Now()
		wait, _ := schedule().After(1)
		at := now.Add(wait)
		if until := retryAfterHeader(r.attempt, now); until.After(at) {
			at = until
		}
		throttled = s.progress && s.saved && !s.stored.expired(at)
	}
	x := s.exchange
	if throttled {
		x.call.Attempts = 0 // the wait is that of a first attempt
	}
	result := x.evaluate(ctx, r.attempt, r.response, interpret)
	result.Call, result.Omitted = s.call, s.omitted
	result.Uncounted = result.Uncounted || throttled && result.State == Waiting
	return result
}
