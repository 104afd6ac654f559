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
)

// reusedSteps is an upload whose first step is reused for a minute, with the stored steps of the call.
type reusedSteps struct {
	*respondingSender
	clock *clocktest.Clock
	call  Call
	steps []Step
	saved []byte
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
	d := Dispatcher{Clock: s.clock, SaveSteps: func(_ context.Context, _ Call, steps []byte) (bool, error) {
		if s.held && s.err == nil {
			s.saved = steps
		}
		return s.held, s.err
	}}
	s.call.Steps = s.saved
	r := s.dispatchCall(t.Context(), d, s.call, s.steps, nil)
	s.call.Attempts++
	return r, strings.Join(s.called(), ", ")
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
	for _, status := range []string{"503 {}", "429 {}", "401 {}"} {
		s.responses[uploaded] = status
		_, requests := s.attempt(t)
		require.Equal(t, uploaded, requests, "after 503, 429 and 401 the value is reused")
	}
	s.responses[uploaded] = "404 {}"
	s.attempt(t)
	_, requests := s.attempt(t)
	require.Equal(t, created, requests)

	hostile := newReusedSteps()
	hostile.responses["POST /uploads"] = `201 {"id":"../x","key":"s3cret-key"}`
	for range 2 {
		_, requests = hostile.attempt(t)
		require.Equal(t, "POST /uploads", requests)
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
	s.held = false
	r, requests := s.attempt(t)
	require.Equal(t, "POST /uploads", requests)
	require.Equal(t, Waiting, r.State)
	require.Contains(t, r.Message, "the lease of the call has ended")

	s.held, s.err = true, errors.New("no database")
	_, requests = s.attempt(t)
	require.Equal(t, created, requests, "without storage, later attempts begin again")
}
