package relay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/step"
)

// reusedSteps is an upload whose first step is reused for a minute, with the stored steps of the call.
type reusedSteps struct {
	*respondingSender
	clock *clocktest.Clock
	call  Call
	steps []Step
	saved []byte
	rates Rates
	held  bool
	err   error
}

func newReusedSteps() *reusedSteps {
	clock := clocktest.New()
	s := &reusedSteps{respondingSender: &respondingSender{responses: map[string]string{
		"POST /uploads": `201 {"id":"u","key":"s3cret-key"}`, "PUT /uploads/u?of=u": "503 {}", "POST /jobs": "202 {}"}},
		clock: clock, call: Call{ID: core.NewID(clock.Now()), Since: clock.Now()}, steps: uploadSteps(), held: true}
	s.steps[0].Reuse = time.Minute
	return s
}

// attempt makes an attempt and returns its requests.
func (s *reusedSteps) attempt(t *testing.T) (Result, string) {
	t.Helper()
	s.requests = nil
	r := s.attemptWithin(t, time.Hour)
	s.call.Attempts++
	return r, strings.Join(s.called(), ", ")
}

// attemptWithin makes an attempt with a time limit.
func (s *reusedSteps) attemptWithin(t *testing.T, time time.Duration) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time)
	defer cancel()
	s.call.Steps = s.saved
	d := Dispatcher{Clock: s.clock, Rates: s.rates, SaveSteps: s.save}
	return s.dispatchCall(ctx, d, s.call, s.steps, nil)
}

func (s *reusedSteps) save(_ context.Context, _ Call, steps []byte) (bool, error) {
	if s.held && s.err == nil {
		s.saved = steps
	}
	return s.held, s.err
}

const (
	created  = "POST /uploads, PUT /uploads/u?of=u"
	uploaded = "PUT /uploads/u?of=u"
)

func TestCompletedStepsAreReusedByRetries(t *testing.T) {
	for name, row := range map[string]struct {
		change func(s *reusedSteps)
		second string
	}{
		"reused":             {func(*reusedSteps) {}, uploaded},
		"expired":            {func(s *reusedSteps) { s.clock.Advance(time.Minute) }, created},
		"another call":       {func(s *reusedSteps) { s.call.ID = core.NewID(s.clock.Now()) }, created},
		"another request":    {func(s *reusedSteps) { s.steps[0].Body.Raw = []byte(`[]`) }, created},
		"no longer declared": {func(s *reusedSteps) { s.steps[0].Reuse = 0 }, created},
		"unreadable":         {func(s *reusedSteps) { s.saved = []byte("{") }, created},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReusedSteps()
			r, requests := s.attempt(t)
			require.Equal(t, Waiting, r.State)
			require.Equal(t, created, requests)
			row.change(s)
			s.responses[uploaded] = "200 s3cret-key"
			r, requests = s.attempt(t)
			require.Equal(t, Done, r.State, r.Message)
			require.Equal(t, row.second+", POST /jobs", requests)
			upload := r.Earlier[len(r.Earlier)-1]
			require.Equal(t, "••••••", string(upload.ResponseBody), "a reused value is masked too")
		})
	}
}

func TestOutdatedValuesAreTakenAgain(t *testing.T) {
	s := newReusedSteps()
	s.attempt(t)
	for _, status := range []string{"503 {}", "429 {}"} {
		s.responses[uploaded] = status
		_, requests := s.attempt(t)
		require.Equal(t, uploaded, requests, "after 503 and 429 the value is reused")
	}
	var requests string
	for _, status := range []string{"401 {}", "404 {}"} {
		s.responses[uploaded] = status
		s.attempt(t)
		_, requests = s.attempt(t)
		require.Equal(t, created, requests)
	}

	hostile := newReusedSteps()
	hostile.responses["POST /uploads"] = `201 {"id":"../x","key":"s3cret-key"}`
	for range 2 {
		_, requests = hostile.attempt(t)
		require.Equal(t, "POST /uploads", requests)
	}
}

func TestRejectedAccessTokensAreNoOutdatedValues(t *testing.T) {
	require.True(t, isOutdated(401, Plan{Credentials: []Credential{{Signature: &Signature{}}}}))
	require.False(t, isOutdated(401, Plan{Credentials: []Credential{{OAuth2: &OAuth2{}}}}))
}

func TestReusedValuesBelongToOneAccount(t *testing.T) {
	for name, change := range map[string]func(plan *Plan, take []step.Take, access *Access){
		"the URL":     func(_ *Plan, _ []step.Take, a *Access) { a.BaseURLs["api"] = "https://files.example" },
		"a secret":    func(_ *Plan, _ []step.Take, a *Access) { a.Secrets["key"] = "other" },
		"a client":    func(_ *Plan, _ []step.Take, a *Access) { a.Secrets["client"] = "other" },
		"a store's":   func(_ *Plan, _ []step.Take, a *Access) { a.Secrets["key@s"] = "other" },
		"certificate": func(_ *Plan, _ []step.Take, a *Access) { a.Secrets["chain"] = "other" },
		"a claim":     func(_ *Plan, _ []step.Take, a *Access) { a.Secrets["kid"] = "other" },
		"taken":       func(_ *Plan, take []step.Take, _ *Access) { take[0].Secret = true },
		"credentials": func(p *Plan, _ []step.Take, _ *Access) { p.Credentials = p.Credentials[:1] },
		"nothing":     func(*Plan, []step.Take, *Access) {},
	} {
		t.Run(name, func(t *testing.T) {
			next := uploadSteps()[0]
			next.Request.Secrets = []SecretHeader{{Header: "X-Key", Secret: "key", Template: "{secret}"}}
			next.Request.Certificate = Certificate{"chain", "private"}
			next.Request.Credentials = []Credential{
				{Name: "o", OAuth2: &OAuth2{ClientID: "client", ClientSecret: "key"}},
				{Name: "w", WebToken: &WebToken{Secret: "key", Claims: []Claim{{Name: "kid", Secret: "kid"}}}}}
			access := Access{BaseURLs: map[string]string{"api": "https://api.example"}, Secrets: map[string]string{
				"key": "k", "client": "c", "chain": "1", "private": "2", "kid": "3"}}
			s := sequence{exchange: exchange{access: access, store: "s"}, values: step.Values{}}
			before, err := s.digest(next)
			require.NoError(t, err)
			change(&next.Request, next.Take, &access)
			after, err := s.digest(next)
			require.NoError(t, err)
			require.Equal(t, name == "nothing", before == after)
		})
	}
}

func TestOnlyUnusableValuesDiscardCompletedSteps(t *testing.T) {
	require.False(t, isUnusable(errors.New("counting the requests to the endpoint failed")))
	require.False(t, isUnusable(unusableError{missingSetting("no URL")}))
	require.True(t, isUnusable(unusableError{errors.New("the value cannot be a part of a path")}))
}

func TestReusableStepWaitsForLaterRateLimit(t *testing.T) {
	for wait, uncounted := range map[time.Duration]bool{30 * time.Second: true, 2 * time.Minute: false} {
		s := newReusedSteps()
		s.steps[1].Request.RateLimit = RateLimit{Requests: 1, Period: time.Minute}
		rates := &scriptedRates{waits: []time.Duration{wait, wait}, clock: s.clock}
		s.rates = rates
		r, requests := s.attempt(t)
		require.Equal(t, "POST /uploads", requests)
		require.Equal(t, uncounted, r.Uncounted)
		require.Equal(t, s.clock.Now().Add(wait), r.RetryAt)
		require.Equal(t, queue.Responded, r.Response())
		r, requests = s.attempt(t)
		require.Empty(t, requests)
		require.True(t, r.Uncounted)
		require.Equal(t, queue.NoRequest, r.Response())
		require.True(t, r.RetryAfter.IsZero(), "it pauses no other calls")
		require.Equal(t, []time.Duration{maxRateWait, maxRateWait}, rates.latest)
	}
}

func TestExpiringStepsUseUpTheAttempts(t *testing.T) {
	s := newReusedSteps()
	s.call.Since = s.clock.Now()
	for range 100 {
		r, requests := s.attempt(t)
		require.Equal(t, created, requests)
		if r.State == Failed {
			return
		}
		require.False(t, r.Uncounted)
		s.clock.Advance(time.Minute)
	}
	t.Fatal("the call never fails")
}

func TestNothingIsSentAfterTheLeaseIsLost(t *testing.T) {
	s := newReusedSteps()
	s.held, s.call.Attempts = false, 5
	r, requests := s.attempt(t)
	require.Equal(t, "POST /uploads", requests)
	require.Equal(t, Waiting, r.State, "the other replica ends the call")
	require.True(t, r.Uncounted)
	require.True(t, r.LeaseLost)
	require.Contains(t, r.Message, "the lease of the call has ended")

	s.held, s.err = true, errors.New("no database")
	_, requests = s.attempt(t)
	require.Equal(t, created, requests, "without storage, later attempts begin again")
}
