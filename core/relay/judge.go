package relay

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// maxAttempts is the first attempt and five retries, after 1, 2, 4, 8 and 16
// seconds: the schedule of deliveries (spec, Delivery rules).
const maxAttempts = 6

func retryAfter(attempts int) (time.Duration, bool) {
	if attempts >= maxAttempts {
		return 0, false
	}
	return time.Second << (attempts - 1), true
}

// Bounds of waiting for a plugin that is not there.
const (
	absencePause = 2 * time.Second
	absenceLimit = 24 * time.Hour
)

// absent lets a call wait for its plugin, for a day: what is older is no news.
func absent(c Call, reason string, now time.Time) Result {
	r := Result{Call: c, State: Waiting, Message: reason, RetryAt: now.Add(absencePause), Untried: true, Executed: now}
	if now.Sub(c.Since) >= absenceLimit {
		r.State, r.Message = Failed, "given up after a day: "+reason
	}
	return r
}

// spared lets a call wait as long as its aggregator wants none of the kind.
func spared(c Call, until, now time.Time) Result {
	r := absent(c, "the aggregator asked to be left alone until "+until.UTC().Format(time.RFC3339), now)
	r.RetryAt = until
	return r
}

// mostSpared bounds how long an aggregator may ask to be left alone.
const mostSpared = time.Hour

// askedUntil is until when an answer asks to be left alone: Retry-After in seconds or as
// a date (RFC 9110, 10.2.3). The zero time: it does not.
func askedUntil(a Attempt, now time.Time) time.Time {
	text := a.ResponseHeaders["Retry-After"]
	until, err := http.ParseTime(text)
	if seconds, wrong := strconv.Atoi(text); wrong == nil {
		until, err = now.Add(time.Duration(min(seconds, int(mostSpared/time.Second)))*time.Second), nil
	}
	switch most := now.Add(mostSpared); {
	case err != nil || !until.After(now):
		return time.Time{}
	case until.After(most):
		return most
	}
	return until
}

// unsent judges an attempt of which nothing was sent.
func unsent(c Call, plan Plan, why error, now time.Time) Result {
	return judge(c, plan, Attempt{StartedAt: now, Method: plan.Method, ErrorClass: "not_sent", Error: why.Error()}, Outcome{}, now)
}

// unread is the outcome by an answer that the plugin could not read: the plan's own rule
// judges where it has none to read it with, or where the rule takes it for a failure. Else nobody
// knows, and the call is made again, by the same key.
func unread(plan Plan, response Response, why error) Outcome {
	if core.CodeOf(why) == core.NotFound || plan.Success.failure(response) != "" {
		return Outcome{}
	}
	return Outcome{State: OutcomeRetry, Message: "the answer could not be read: " + why.Error()}
}

// judge decides what follows from an attempt: by the plugin's reading of the
// answer where there is one, else by the plan's rule.
func judge(c Call, plan Plan, a Attempt, outcome Outcome, now time.Time) Result {
	r := Result{Call: c, Attempt: &a, Outcome: outcome, Executed: now}
	final := false
	if a.ErrorClass == "" && outcome.State == "" {
		outcome.State, final = OutcomeDone, slices.Contains(plan.Success.Final, a.Status)
		if failure := plan.Success.failure(Response{Status: a.Status, Body: a.ResponseBody}); failure != "" {
			r.Attempt.ErrorClass, r.Attempt.Error = "status", failure
			outcome.State = OutcomeRetry
		}
	}
	if final && outcome.State == OutcomeRetry {
		outcome.State = OutcomeFailed
	}
	switch outcome.State {
	case OutcomeDone:
		r.State, r.Message = Done, outcome.Message
		return r
	case OutcomePending:
		r.State, r.Message = Pending, outcome.Message
		return r
	}
	if r.Attempt.ErrorClass == "" { // it is the plugin who says so
		r.Attempt.ErrorClass, r.Attempt.Error = "refused", cmp.Or(outcome.Message, fmt.Sprintf("the aggregator answered %d", a.Status))
	}
	r.Message = r.Attempt.Error
	until := askedUntil(a, now)
	if a.Status == http.StatusTooManyRequests {
		r.SparedTo = until
	}
	wait, more := retryAfter(c.Attempts + 1)
	if outcome.State == OutcomeFailed || !more {
		r.State = Failed
		return r
	}
	r.State, r.RetryAt = Waiting, now.Add(wait)
	if until.After(r.RetryAt) {
		r.RetryAt = until
	}
	return r
}

// failure tells in plain words why an answer is no success; "" where it is one.
func (s Success) failure(response Response) string {
	status := response.Status
	accepted := status >= 200 && status < 300
	if len(s.Statuses) > 0 {
		accepted = slices.Contains(s.Statuses, status)
	}
	if !accepted {
		return fmt.Sprintf("the aggregator answered %d %s", status, http.StatusText(status))
	}
	if s.Pointer == "" {
		return ""
	}
	if found, ok := pointed(response.Body, s.Pointer); !ok || !reflect.DeepEqual(found, read([]byte(s.Equals))) {
		return fmt.Sprintf("the aggregator answered %d, but its answer does not say %s at %s", status, s.Equals, s.Pointer)
	}
	return ""
}

// read is a JSON value as Go has it; nil where it is none.
func read(text []byte) (value any) {
	_ = json.Unmarshal(text, &value)
	return value
}

// pointed is the value at a JSON pointer (RFC 6901).
func pointed(body []byte, pointer string) (any, bool) {
	value := read(body)
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch held := value.(type) {
		case map[string]any:
			found, ok := held[token]
			if !ok {
				return nil, false
			}
			value = found
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(held) {
				return nil, false
			}
			value = held[n]
		default:
			return nil, false
		}
	}
	return value, true
}
