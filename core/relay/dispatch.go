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
)

// RateLimit is the greatest rate of requests to an endpoint of a platform of a business. The zero value is unlimited.
type RateLimit struct {
	Requests int
	Period   time.Duration
	Burst    int
}

// RateKey identifies the requests that a rate limit counts.
type RateKey struct {
	Business           core.BusinessID
	Platform, Endpoint string
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
}

// exchange is one attempt at a plan.
type exchange struct {
	Dispatcher
	call    Call
	plan    Plan
	access  Access
	store   string
	earlier []Attempt // requests that were made before the last one
}

// limitedError means that the rate limit of an endpoint allows no request before a time.
type limitedError struct{ until time.Time }

func (e limitedError) Error() string {
	return "the rate limit of the endpoint allows no request before " + e.until.UTC().Format(time.RFC3339)
}

// Send sends the plan of a call and evaluates the response. The plugin reads the response through interpret. It does
// not record the attempt.
func (e Dispatcher) Send(ctx context.Context, c Call, plan Plan, access Access,
	interpret func(context.Context, Response) (Outcome, error)) Result {
	x := exchange{Dispatcher: e, call: c, plan: plan, access: access, store: c.storeRefID()}
	attempt, err := x.run(ctx)
	if err != nil {
		return x.notSent(err)
	}
	var outcome Outcome
	if attempt.ErrorClass == "" {
		ctx, cancel := context.WithTimeout(ctx, planTimeout)
		defer cancel()
		response := responseOf(attempt)
		outcome, err = e.contain(c, func() (Outcome, error) { return interpret(ctx, response) })
		if err != nil {
			outcome = interpretFailure(plan, response, err)
			e.Log.Warn("interpreting a response failed", "call", c.ID, "platform", c.Platform, "error", err)
		}
	}
	result := resultOf(c, plan, attempt, outcome, e.Clock.Now())
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
		result.RetryAt, result.RetryAfter, result.Earlier = limited.until, limited.until, x.earlier
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
		latest := x.Clock.Now().Add(maxRateWait)
		at, err := x.Rates.Reserve(ctx, RateKey{x.call.Business, x.call.Platform, x.plan.Endpoint}, x.plan.RateLimit,
			latest)
		if err != nil {
			return Attempt{}, fmt.Errorf("counting the requests to the endpoint failed: %s", core.PublicMessage(err))
		}
		if at.After(latest) {
			return Attempt{}, limitedError{at}
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
	return x.Sender.Send(ctx, request), nil
}

// storeRefID returns the ref_id of the store of a call, or "" if it is unknown.
func (c Call) storeRefID() string {
	if c.Order.StoreRefID != "" || c.Kind != StoreAction && c.Kind != ItemAction {
		return c.Order.StoreRefID
	}
	var payload PlatformStore
	_ = json.Unmarshal(c.Payload, &payload) // planning has decoded it
	return payload.StoreRefID
}
