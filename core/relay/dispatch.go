package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/step"
)

// RateLimit is the greatest rate of requests to an endpoint of a platform of a business. The zero value is unlimited.
type RateLimit struct {
	Requests int
	Period   time.Duration
	Burst    int
	Scope    RateScope
}

// RateKey identifies the requests that a rate limit counts.
type RateKey struct {
	Business           core.BusinessID
	Platform, Endpoint string
	Subject            string // a store or an order; "": the platform
}

// Rates counts requests against rate limits, for all replicas.
type Rates interface {
	// Reserve reserves the next request, and returns when it may be sent. If that is after latest, it reserves
	// nothing.
	Reserve(ctx context.Context, key RateKey, limit RateLimit, latest time.Time) (at time.Time, err error)
}

// maxRateWait is how long a call waits here for its rate limit. A call that must wait longer is queued again.
const maxRateWait = 2 * time.Second

// Dispatcher sends plans, with URL and secrets, one attempt each. Tokens and Rates are only required for plans that
// need them.
type Dispatcher struct {
	Sender Sender
	Tokens AccessTokens
	Rates  Rates
	Clock  core.Clock
	Log    *slog.Logger

	SaveSteps SaveSteps // nil: no steps are stored
}

// SaveSteps stores the completed steps of a call for its later attempts, encrypted. It returns false, and stores
// nothing, if the owner of the call no longer has the lease.
type SaveSteps func(ctx context.Context, c Call, steps []byte) (bool, error)

// exchange is one attempt at a plan.
type exchange struct {
	Dispatcher
	call    Call
	plan    Plan
	access  Access
	store   string
	earlier []Attempt // requests that were made before the last one

	stepped bool   // it is a step
	later   bool   // it is a step after a request that a retry would repeat
	plain   []byte // the body before its compression, for the record; nil: the one that is sent
}

// limitedError means that the rate limit of an endpoint allows no request before a time, or that the hub could not
// count the request.
type limitedError struct {
	until     time.Time
	scoped    bool   // other calls need not wait, because the limit counts for one store or order, or is not known
	uncounted string // why the hub could not count the request; "": the endpoint's limit is reached
}

func (e limitedError) Error() string {
	if e.uncounted != "" {
		return e.uncounted
	}
	return "the rate limit of the endpoint allows no request before " + e.until.UTC().Format(time.RFC3339)
}

// Interpret reads a response. See Plugins.
type Interpret func(context.Context, Response) (Outcome, error)

// Send sends the plan of a call and evaluates the response. The plugin reads the response through interpret. It does
// not record the attempt.
func (e Dispatcher) Send(ctx context.Context, c Call, plan Plan, access Access, interpret Interpret) Result {
	x := exchange{Dispatcher: e, call: c, plan: plan, access: access, store: c.StoreRefID()}
	if len(plan.Steps) > 0 {
		s := sequence{exchange: x, values: step.Values{}}
		return s.send(ctx, interpret)
	}
	attempt, err := x.run(ctx)
	if err != nil {
		return x.notSent(err)
	}
	return x.evaluate(ctx, attempt, responseOf(attempt), interpret)
}

// evaluate returns the result of an attempt, with the plugin's interpretation if there is a response. A stop or
// abandonment of the call does not end the interpretation: the aggregator may have accepted the request.
func (x *exchange) evaluate(ctx context.Context, attempt Attempt, response Response, interpret Interpret) Result {
	var outcome Outcome
	fetches := x.call.Kind == InboundFetch || x.call.Kind == Poll
	fetched := !fetches || x.plan.Success.failure(response) == "" // else there is nothing to read
	if attempt.ErrorClass == "" && fetched {
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), planTimeout)
		defer cancel()
		if end, limited := ctx.Deadline(); limited { // another replica may make the call then
			inner, cancel = context.WithDeadline(inner, end)
			defer cancel()
		}
		var err error
		outcome, err = x.contain(x.call, func() (Outcome, error) { return interpret(inner, response) })
		if err != nil {
			outcome = interpretFailure(x.plan, response, err)
			x.Log.Warn("interpreting a response failed", "call", x.call.ID, "platform", x.call.Platform, "error", err)
		}
	}
	result := resultOf(x.call, x.plan, attempt, outcome, x.Clock.Now())
	result.Earlier = x.earlier
	return result
}

// contain runs the interpretation of a response. A panic is an error, so that the response is on record.
func (e Dispatcher) contain(c Call, interpret func() (Outcome, error)) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.Log.Error("interpreting a response panicked", "call", c.ID, "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return interpret()
}

func responseOf(a Attempt) Response {
	response := Response{Status: a.Status, Headers: make(map[string]string, len(a.ResponseHeaders)),
		Body: a.ResponseBody}
	for name, value := range a.ResponseHeaders {
		response.Headers[strings.ToLower(name)] = value
	}
	return response
}

// notSent returns the result of an exchange that sent nothing.
func (x *exchange) notSent(err error) Result {
	now := x.Clock.Now()
	var limited limitedError
	if errors.As(err, &limited) {
		result := delayUnavailable(x.call, limited.Error(), now)
		result.RetryAt, result.Earlier = limited.until, x.earlier
		if !limited.scoped {
			result.RetryAfter = limited.until
		}
		return result
	}
	result := notSent(x.call, x.plan, err, now)
	result.MissingSetting, result.Earlier = errors.As(err, &MissingSettingError{}), x.earlier
	return result
}

// run makes the request, with a renewed access token if the aggregator rejects a cached one. A rejection that another
// renewal may resolve has an error class, so that it is retried.
func (x *exchange) run(ctx context.Context) (a Attempt, err error) {
	request, err := x.plan.buildRequest(x.access, x.store)
	if err != nil {
		return a, err
	}
	request.Headers = maps.Clone(request.Headers)
	if request.Headers == nil {
		request.Headers = map[string]string{}
	}
	var rejected map[string]string
	var refused Attempt // with the rejected tokens
	var at int          // of refused in x.earlier
	for {
		tokens, failed, err := x.addTokens(ctx, &request, rejected)
		var rejection RejectedTokenError
		switch {
		case errors.As(err, &rejection):
			if !rejection.Repeated { // another renewal may help
				refused = x.earlier[at]
			}
			x.earlier = slices.Delete(x.earlier, at, at+1)
			return refused, nil
		case err != nil:
			return a, err
		case failed != nil:
			return *failed, nil
		}
		if a, err = x.transmit(ctx, request); err != nil || a.Status != http.StatusUnauthorized {
			return a, err
		}
		renewed := rejected != nil
		refused, at = a, len(x.earlier)
		if rejected = renewable(tokens); len(rejected) == 0 {
			return a, nil
		}
		a.ErrorClass, a.Error = "status", Success{}.failure(Response{Status: a.Status})
		if renewed {
			return a, nil
		}
		x.earlier = append(x.earlier, a)
	}
}

// renewable returns the tokens by credential that were not requested for this call.
func renewable(tokens map[string]Token) map[string]string {
	list := map[string]string{}
	for name, token := range tokens {
		if !token.Fresh {
			list[name] = token.Value
		}
	}
	return list
}

// addTokens sets the headers of all access tokens. It renews those that were rejected. failed is the record of a
// failure, with the token request if this call made it.
func (x *exchange) addTokens(ctx context.Context, request *Request,
	rejected map[string]string) (tokens map[string]Token, failed *Attempt, err error) {
	tokens = map[string]Token{}
	for _, credential := range x.plan.Credentials {
		if credential.OAuth2 == nil {
			continue
		}
		if x.Tokens == nil {
			return nil, nil, fmt.Errorf("the hub has no tokens for the credential %q", credential.Name)
		}
		started := x.Clock.Now()
		token, err := x.Tokens.Token(ctx, TokenRequest{Business: x.call.Business, Platform: x.call.Platform,
			Store: x.store, Credential: credential.Name, OAuth2: credential.OAuth2, Access: x.access,
			Rejected: rejected[credential.Name]})
		switch {
		case errors.As(err, &MissingSettingError{}):
			return nil, nil, err
		case errors.As(err, &RejectedTokenError{}):
			if token.Request != nil {
				x.earlier = append(x.earlier, *token.Request)
			}
			return nil, nil, err
		case err != nil:
			failed = token.Request
			if failed == nil {
				failed = &Attempt{StartedAt: started, Method: x.plan.Method}
			}
			failed.ErrorClass, failed.Error = credentialClass, err.Error()
			return nil, failed, nil
		}
		if token.Request != nil {
			x.earlier = append(x.earlier, *token.Request)
		}
		if err := credential.OAuth2.addToken(request, credential.Name, token.Value); err != nil {
			return nil, nil, err
		}
		tokens[credential.Name] = token
	}
	return tokens, nil, nil
}

// transmit signs and sends a request when the rate limit of its endpoint allows it.
func (x *exchange) transmit(ctx context.Context, request Request) (Attempt, error) {
	if x.plan.RateLimit.Requests > 0 && x.Rates != nil {
		latest := x.Clock.Now().Add(x.maxWait(ctx))
		key := x.rateKey()
		at, err := x.Rates.Reserve(ctx, key, x.plan.RateLimit, latest)
		if err != nil {
			x.Log.Warn("counting the requests to an endpoint failed", "call", x.call.ID, "platform", x.call.Platform,
				"error", err)
			return Attempt{}, limitedError{until: x.Clock.Now().Add(unavailablePause), scoped: true,
				uncounted: "counting the requests to the endpoint failed: " + core.PublicMessage(err)}
		}
		if at.After(latest) {
			return Attempt{}, limitedError{until: at, scoped: key.Subject != ""}
		}
		core.SleepUntil(ctx, x.Clock, at)
	}
	for _, credential := range x.plan.Credentials {
		if s := credential.Signature; s != nil {
			key, _, err := x.access.RequiredSecret(s.Secret, x.store)
			if err != nil {
				return Attempt{}, err
			}
			if err := s.sign(&request, key, x.Clock.Now()); err != nil {
				return Attempt{}, err
			}
		}
	}
	for _, credential := range x.plan.Credentials {
		if t := credential.WebToken; t != nil {
			if err := t.add(&request, credential.Name, x.access, x.store, x.Clock.Now()); err != nil {
				return Attempt{}, err
			}
		}
	}
	request.KeepRaw = x.stepped
	a := x.Sender.Send(ctx, request)
	if x.plain != nil {
		a.RequestBody = x.plain
	}
	return a, nil
}

// maxWait returns how long a request may wait here for its rate limit. A step waits longer if a retry would
// repeat the requests before it.
func (x *exchange) maxWait(ctx context.Context) time.Duration {
	end, limited := ctx.Deadline()
	if !x.later || !limited {
		return maxRateWait
	}
	return max(maxRateWait, time.Until(end)-minStepTime)
}

// StoreRefID returns the ref_id of the store of a call, or "" if it is unknown.
func (c Call) StoreRefID() string {
	if c.Order.StoreRefID != "" || c.Kind != StoreAction && c.Kind != ItemAction && c.Kind != Poll {
		return c.Order.StoreRefID
	}
	var payload PlatformStore
	_ = json.Unmarshal(c.Payload, &payload) // planning rejects a payload that it cannot decode
	return payload.StoreRefID
}
