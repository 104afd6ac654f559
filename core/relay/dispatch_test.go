package relay

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// scriptedSender responds with a status for each request. It also records the requests.
type scriptedSender struct {
	statuses []int
	requests []Request
}

func (s *scriptedSender) Send(_ context.Context, r Request) Attempt {
	status := s.statuses[min(len(s.requests), len(s.statuses)-1)]
	s.requests = append(s.requests, r)
	return Attempt{Method: r.Method, URL: r.URL, Status: status}
}

// scriptedTokens returns the tokens one by one.
type scriptedTokens struct {
	tokens   []Token
	errs     []error
	rejected []string
}

func (s *scriptedTokens) Token(_ context.Context, r TokenRequest) (Token, error) {
	n := len(s.rejected)
	s.rejected = append(s.rejected, r.Rejected)
	return s.tokens[n], s.errs[n]
}

func tokenPlan() Plan {
	return Plan{Endpoint: "api", Hosts: []string{"api.example"}, Method: "POST", Path: "/a",
		Success:     Success{Final: []int{401}},
		Credentials: []Credential{{Name: "partner", OAuth2: &OAuth2{}}}}
}

func (s *scriptedSender) dispatch(tokens *scriptedTokens, plan Plan) Result {
	access := Access{BaseURLs: map[string]string{"api": "https://api.example/base"},
		Secrets: map[string]string{"key": "k", "chain": "CHAIN", "key@s1": "k of s1"}}
	d := Dispatcher{Sender: s, Tokens: tokens, Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)}
	return d.Send(context.Background(), Call{ID: core.NewID(time.Now()), Order: Order{StoreRefID: "s1"}}, plan, access,
		func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
}

func TestResponse401IsFinalOnlyForANewToken(t *testing.T) {
	tokenRequest := &Attempt{Method: "POST", URL: "token"}
	for name, row := range map[string]struct {
		tokens   []Token
		errs     []error
		statuses []int
		state    State
		requests int
		earlier  []string
		class    string
	}{
		"cached, then renewed": {[]Token{{Value: "old"}, {Value: "new", Fresh: true, Request: tokenRequest}}, nil,
			[]int{401, 200}, Done, 2, []string{"https://api.example/base/a", "token"}, ""},
		"renewed by another call": {[]Token{{Value: "old"}, {Value: "new"}}, nil, []int{401, 200}, Done, 2,
			[]string{"https://api.example/base/a"}, ""},
		"renewed, rejected again": {[]Token{{Value: "old"}, {Value: "new", Fresh: true}}, nil, []int{401, 401},
			Failed, 2, []string{"https://api.example/base/a"}, "status"},
		"renewed by another, rejected again": {[]Token{{Value: "old"}, {Value: "new"}}, nil, []int{401, 401},
			Waiting, 2, []string{"https://api.example/base/a"}, "status"},
		"new, rejected": {[]Token{{Value: "new", Fresh: true, Request: tokenRequest}}, nil, []int{401}, Failed, 1,
			[]string{"token"}, "status"},
		"renewal fails": {[]Token{{Value: "old"}, {Request: tokenRequest}}, []error{nil, errors.New("refused")},
			[]int{401}, Waiting, 1, []string{"https://api.example/base/a"}, "credentials"},
		"not renewed again": {[]Token{{Value: "old"}, {}},
			[]error{nil, RejectedTokenError{Credential: "partner", Repeated: true}}, []int{401},
			Failed, 1, nil, "status"},
		"not renewed yet": {[]Token{{Value: "old"}, {}}, []error{nil, RejectedTokenError{Credential: "partner"}},
			[]int{401}, Waiting, 1, nil, "status"},
		"renewed to the same token": {[]Token{{Value: "old"}, {Request: tokenRequest}},
			[]error{nil, RejectedTokenError{Credential: "partner", Repeated: true}}, []int{401},
			Failed, 1, []string{"token"}, "status"},
		"no token": {[]Token{{}}, []error{errors.New("refused")}, []int{200}, Waiting, 0, nil, "credentials"},
		"missing":  {[]Token{{}}, []error{MissingSettingError{"no secret"}}, []int{200}, Waiting, 0, nil, "not_sent"},
	} {
		t.Run(name, func(t *testing.T) {
			row.errs = append(row.errs, nil, nil)
			sender := &scriptedSender{statuses: row.statuses}
			tokens := &scriptedTokens{tokens: row.tokens, errs: row.errs}
			r := sender.dispatch(tokens, tokenPlan())
			require.Equal(t, row.state, r.State, r.Message)
			require.Len(t, sender.requests, row.requests)
			require.Equal(t, row.class, r.Attempt.ErrorClass)
			require.Equal(t, name == "missing", r.MissingSetting)
			var earlier []string
			for _, a := range r.Earlier {
				earlier = append(earlier, a.URL)
			}
			require.Equal(t, row.earlier, earlier)
			if len(tokens.rejected) == 2 {
				require.Equal(t, []string{"", "old"}, tokens.rejected)
			}
			if row.requests == 2 {
				require.Equal(t, "Bearer new", sender.requests[1].Secrets["Authorization"])
			}
		})
	}
}

func TestRequestsUseCertificateAndSecretsOfTheStore(t *testing.T) {
	template, err := signature.Parse("{path}")
	require.NoError(t, err)
	plan := tokenPlan()
	plan.Certificate = Certificate{Chain: "chain", Key: "key"}
	scheme := signature.Scheme{Template: template}
	plan.Credentials = []Credential{{Name: "signed", Signature: &Signature{Secret: "key", Scheme: scheme,
		Header: "X-Sum"}}}
	sender := &scriptedSender{statuses: []int{200}}
	require.Equal(t, Done, sender.dispatch(nil, plan).State)
	require.Equal(t, &webhook.Certificate{Chain: "CHAIN", Key: "k of s1"}, sender.requests[0].Certificate)
	require.Equal(t, scheme.Sum([]byte("k of s1"), signature.Request{Path: "/base/a"}),
		sender.requests[0].Headers["X-Sum"])
	require.Nil(t, plan.Headers, "the plan is unchanged")

	plan.Certificate.Chain = "none"
	r := sender.dispatch(nil, plan)
	require.True(t, r.MissingSetting)
	require.Contains(t, r.Message, `has no secret "none"`)
}

// fixedRates allows a request at a time.
type fixedRates struct{ after []time.Duration }

func (r *fixedRates) Reserve(_ context.Context, _ RateKey, _ RateLimit, latest time.Time) (time.Time, error) {
	after := r.after[0]
	r.after = slices.Delete(r.after, 0, 1)
	return latest.Add(-maxRateWait).Add(after), nil
}

func TestRateLimitDelaysOrRequeuesACall(t *testing.T) {
	const late = maxRateWait + time.Second
	clock := clocktest.New()
	sender := &scriptedSender{statuses: []int{200}}
	d := Dispatcher{Sender: sender, Clock: clock, Log: slog.New(slog.DiscardHandler),
		Rates: &fixedRates{[]time.Duration{0, late, late, late}}}
	plan := Plan{Endpoint: "api", Hosts: []string{"api.example"}, Path: "/a", RateLimit: RateLimit{Requests: 1,
		Period: time.Second}}
	access := Access{BaseURLs: map[string]string{"api": "https://api.example"}}
	send := func(since time.Time) Result {
		return d.Send(t.Context(), Call{Since: since, Order: Order{PlatformOrderID: "A-1"}}, plan, access,
			func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
	}
	require.Equal(t, Done, send(clock.Now()).State)
	r := send(clock.Now())
	require.Equal(t, Waiting, r.State)
	require.True(t, r.Uncounted, "it uses no attempt")
	require.Nil(t, r.Attempt)
	require.Equal(t, clock.Now().Add(late), r.RetryAt)
	require.Equal(t, r.RetryAt, r.RetryAfter)
	require.Equal(t, Waiting, send(time.Time{}).State, "a menu has no age")
	plan.RateLimit.Scope = RatePerOrder
	r = send(clock.Now())
	require.Equal(t, clock.Now().Add(late), r.RetryAt)
	require.Zero(t, r.RetryAfter, "calls of other orders need not wait")
	require.Len(t, sender.requests, 1)
}
