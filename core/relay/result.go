package relay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/retry"
)

// Result is the result of a claimed call.
type Result struct {
	Call           Call
	Attempt        *Attempt  // nil if nothing was sent
	Earlier        []Attempt // before it, for the same attempt: token requests, requests with an old token, other steps
	Omitted        int       // successful requests of a long plan before Attempt that are not recorded
	State          State
	Message        string // why, in plain words
	Outcome        Outcome
	RetryAt        time.Time // of Waiting
	Uncounted      bool      // of Waiting: it does not count as an attempt
	RetryAfter     time.Time // nothing of this kind is accepted until then (429, rate limit); zero: unknown
	MissingSetting bool      // nothing was sent, because the platform lacks a URL or a secret that the plan needs
	LeaseLost      bool      // another run makes the call and decides how it ends: this one is only recorded
	FinishedAt     time.Time // when the result was determined
}

// MaxRecordedBody bounds the recorded bytes of a request or response body.
const MaxRecordedBody = 4 << 10

// clip shortens the bodies of a result to their recorded part. Many results wait while the database is unavailable.
func (r *Result) clip() {
	if r.Attempt != nil {
		r.Attempt.clip()
	}
	for i := range r.Earlier {
		r.Earlier[i].clip()
	}
}

func (a *Attempt) clip() {
	for _, body := range []*[]byte{&a.RequestBody, &a.ResponseBody} {
		if len(*body) > MaxRecordedBody {
			*body = bytes.Clone((*body)[:MaxRecordedBody])
		}
	}
}

// schedule returns the retry schedule of calls. It is the schedule of deliveries, in seconds.
func schedule() retry.Schedule { return retry.Default(time.Second) }

// Bounds of the wait for an unavailable plugin.
const (
	unavailablePause = 2 * time.Second
	unavailableLimit = 24 * time.Hour
	maxAbsentPause   = 15 * time.Second
)

// delayUnavailable delays a call until its plugin is available. After a day the call fails, because its content is
// outdated. A menu is rendered again for each attempt, so it waits for ever.
func delayUnavailable(c Call, reason string, now time.Time) Result {
	r := Result{Call: c, State: Waiting, Message: reason, RetryAt: now.Add(unavailablePause),
		Uncounted: true, FinishedAt: now}
	if !c.Since.IsZero() && now.Sub(c.Since) >= unavailableLimit {
		r.State, r.Message = Failed, "failed after a day: "+reason
	}
	return r
}

// delayAbsent delays a call while its plugin does not serve. The pause is a quarter of the time that the call has
// waited.
func delayAbsent(c Call, reason string, now time.Time) Result {
	r := delayUnavailable(c, reason, now)
	r.RetryAt = now.Add(min(max(unavailablePause, now.Sub(c.Since)/4), maxAbsentPause))
	return r
}

// delayThrottled delays a call while its aggregator throttles its kind.
func delayThrottled(c Call, until, now time.Time) Result {
	r := delayUnavailable(c, "the aggregator accepts no requests until "+until.UTC().Format(time.RFC3339), now)
	r.RetryAt = until
	return r
}

// maxThrottle bounds a Retry-After of an aggregator.
const maxThrottle = time.Hour

// retryAfterHeader returns the time of a Retry-After header, in seconds or as a date (RFC 9110, 10.2.3). It returns the
// zero time if there is none.
func retryAfterHeader(a Attempt, now time.Time) time.Time {
	text := a.ResponseHeaders["Retry-After"]
	until, err := http.ParseTime(text)
	if seconds, wrong := strconv.Atoi(text); wrong == nil {
		until, err = now.Add(time.Duration(min(seconds, int(maxThrottle/time.Second)))*time.Second), nil
	}
	switch latest := now.Add(maxThrottle); {
	case err != nil || !until.After(now):
		return time.Time{}
	case until.After(latest):
		return latest
	}
	return until
}

// notSentClass is the error class of an attempt without a request.
const notSentClass = "not_sent"

// Response returns what the last request of an attempt showed about the aggregator.
func (r Result) Response() queue.Response {
	switch {
	case r.Attempt != nil && r.Attempt.Responded():
		return queue.Responded
	case r.Attempt != nil && r.Attempt.ErrorClass != notSentClass:
		return queue.NoResponse
	case r.stepResponded():
		return queue.Responded
	}
	return queue.NoRequest
}

// stepResponded reports whether the aggregator responded to a step before the last one.
func (r Result) stepResponded() bool {
	return r.Omitted > 0 ||
		slices.ContainsFunc(r.Earlier, func(a Attempt) bool { return a.Step != "" && a.Responded() })
}

// sent reports whether a request was sent.
func (r Result) sent() bool {
	return r.Omitted > 0 || len(r.Earlier) > 0 || r.Attempt != nil && r.Attempt.ErrorClass != notSentClass
}

// recordOnly returns a result whose requests are recorded, without an effect on its call.
func recordOnly(r Result, now time.Time) Result {
	r.State, r.Uncounted, r.RetryAt, r.RetryAfter = Waiting, true, now, time.Time{}
	return r
}

// notSent returns the result of an attempt that sent nothing.
func notSent(c Call, plan Plan, why error, now time.Time) Result {
	return resultOf(c, plan, Attempt{StartedAt: now, Method: plan.Method, ErrorClass: notSentClass, Error: why.Error()},
		Outcome{}, now)
}

// planFailure returns the result of a call that could not be planned. Callers outside of the hub read it, so it has no
// detail.
func planFailure(c Call, why error, now time.Time) Result {
	return notSent(c, Plan{}, errors.New("planning the call failed: "+core.PublicMessage(why)), now)
}

// sendFailure returns the result of a call that the hub may have sent before it failed.
func sendFailure(c Call, why error, now time.Time) Result {
	return resultOf(c, Plan{}, Attempt{StartedAt: now, ErrorClass: "hub_failed",
		Error: "making the call failed: " + core.PublicMessage(why)}, Outcome{}, now)
}

// interpretFailure returns the outcome of a response that the plugin failed to interpret. The plan's own rule decides
// if the plugin does not interpret responses, or if the rule counts the response as a failure. Otherwise the outcome
// is unknown, and the call is retried with the same key.
func interpretFailure(plan Plan, response Response, why error) Outcome {
	if core.CodeOf(why) == core.NotFound || plan.Success.failure(response) != "" {
		return Outcome{}
	}
	return Outcome{State: OutcomeRetry, Message: "the response could not be read: " + core.PublicMessage(why)}
}

// resultOf returns the result of an attempt. The plugin's interpretation of the response decides, or else the plan's
// rule.
func resultOf(c Call, plan Plan, a Attempt, outcome Outcome, now time.Time) Result {
	r := Result{Call: c, Attempt: &a, Outcome: outcome, FinishedAt: now}
	final := false
	if a.ErrorClass == "" && outcome.State == "" {
		outcome.State, final = OutcomeDone, slices.Contains(plan.Success.Final, a.Status)
		if outcome.ByCallback {
			outcome.State = OutcomePending
		}
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
		r.State, r.Message = Pending, outcome.pendingMessage(now)
		return r
	}
	if r.Attempt.ErrorClass == "" { // the plugin reported the failure
		r.Attempt.ErrorClass, r.Attempt.Error = "refused",
			cmp.Or(outcome.Message, fmt.Sprintf("the aggregator responded with %d", a.Status))
	}
	r.Message = r.Attempt.Error
	until := retryAfterHeader(a, now)
	if a.Status == http.StatusTooManyRequests {
		r.RetryAfter = until
	}
	wait, more := schedule().After(c.Attempts + 1)
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

// pendingMessage describes a pending outcome. That of an action has no deadline.
func (o Outcome) pendingMessage(now time.Time) string {
	if o.ExpiresAfter == 0 {
		return o.Message
	}
	text := fmt.Sprintf("accepted at %s, waiting for the outcome until %s", now.UTC().Format(time.RFC3339),
		now.Add(o.ExpiresAfter).UTC().Format(time.RFC3339))
	if o.Message != "" {
		text = o.Message + ": " + text
	}
	return text
}

// failure describes why a response is not a success, or returns "" if it is one.
func (s Success) failure(response Response) string {
	status := response.Status
	accepted := status >= 200 && status < 300
	if len(s.Statuses) > 0 {
		accepted = slices.Contains(s.Statuses, status)
	}
	if !accepted {
		return fmt.Sprintf("the aggregator responded with %d %s", status, http.StatusText(status))
	}
	if s.Pointer == "" {
		return ""
	}
	if found, ok := valueAt(response.Body, s.Pointer); !ok || !reflect.DeepEqual(found, decodeJSON([]byte(s.Equals))) {
		return fmt.Sprintf("the aggregator responded with %d, but its response has no %s at %s", status, s.Equals,
			s.Pointer)
	}
	return ""
}

// decodeJSON decodes a JSON value, or returns nil if it is not valid.
func decodeJSON(text []byte) (value any) {
	_ = json.Unmarshal(text, &value)
	return value
}

// valueAt returns the value at a JSON pointer (RFC 6901).
func valueAt(body []byte, pointer string) (any, bool) {
	value := decodeJSON(body)
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch node := value.(type) {
		case map[string]any:
			found, ok := node[token]
			if !ok {
				return nil, false
			}
			value = found
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(node) {
				return nil, false
			}
			value = node[n]
		default:
			return nil, false
		}
	}
	return value, true
}
