package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
)

func TestRateLimitsCountForTheirScope(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, row := range map[string]struct {
		scope   RateScope
		call    Call
		store   string
		subject string
	}{
		"a platform":        {RatePerPlatform, Call{Order: Order{PlatformOrderID: "A-1"}}, "s1", ""},
		"a store":           {RatePerStore, Call{}, "s1", "store:s1"},
		"no store":          {RatePerStore, Call{}, "", ""},
		"an order":          {RatePerOrder, Call{Order: Order{ID: 7, PlatformOrderID: "A-1"}}, "s1", "order:A-1"},
		"a rejected order":  {RatePerOrder, Call{Payload: []byte(`{"platform_order_id":"A-2"}`)}, "", "order:A-2"},
		"no order":          {RatePerOrder, Call{Payload: []byte(`{"store_ref_id":"s1"}`)}, "s1", ""},
		"an unreadable one": {RatePerOrder, Call{Payload: []byte(`{`)}, "s1", ""},
		"a long id": {RatePerOrder, Call{Order: Order{ID: 7, PlatformOrderID: long}}, "",
			"order:" + long[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			row.call.Business, row.call.Platform = 3, "p"
			x := exchange{call: row.call, store: row.store,
				plan: Plan{Endpoint: "api", RateLimit: RateLimit{Scope: row.scope}}}
			require.Equal(t, RateKey{Business: 3, Platform: "p", Endpoint: "api", Subject: row.subject}, x.rateKey())
		})
	}
}

// failingRates fails after it has allowed some requests.
type failingRates struct{ allowed int }

func (r *failingRates) Reserve(_ context.Context, _ RateKey, _ RateLimit, latest time.Time) (time.Time, error) {
	if r.allowed--; r.allowed < 0 {
		return time.Time{}, fmt.Errorf("counting the requests: %w", io.ErrUnexpectedEOF)
	}
	return latest.Add(-maxRateWait), nil
}

func TestUncountableRequestUsesNoAttempt(t *testing.T) {
	var log bytes.Buffer
	clock, sender := clocktest.New(), &scriptedSender{statuses: []int{200}}
	d := Dispatcher{Sender: sender, Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Rates: &failingRates{}}
	plan := Plan{Endpoint: "api", Hosts: []string{"api.example"}, Path: "/a", RateLimit: RateLimit{Requests: 1,
		Period: time.Second}}
	access := Access{BaseURLs: map[string]string{"api": "https://api.example"}}
	r := d.Send(t.Context(), Call{ID: core.NewID(clock.Now()), Since: clock.Now(), Attempts: 20}, plan, access,
		func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
	require.Equal(t, Waiting, r.State, "although it is the last attempt")
	require.True(t, r.Uncounted)
	require.Nil(t, r.Attempt)
	require.Equal(t, "counting the requests to the endpoint failed: the hub failed", r.Message)
	require.Equal(t, clock.Now().Add(unavailablePause), r.RetryAt)
	require.Zero(t, r.RetryAfter, "the aggregator does not throttle")
	require.Empty(t, sender.requests)
	require.Contains(t, log.String(), io.ErrUnexpectedEOF.Error())
}

func TestUncountableLaterStepUsesAnAttempt(t *testing.T) {
	steps := uploadSteps()[:1]
	steps[0].Request.RateLimit = RateLimit{Requests: 1, Period: time.Minute}
	steps = append(steps, Step{Name: "start", Request: steps[0].Request})
	s := &respondingSender{responses: map[string]string{"POST /uploads": `201 {"id":"u","key":"s3cret"}`}}
	r := s.dispatch(t.Context(), Dispatcher{Rates: &failingRates{allowed: 1}}, steps, nil)
	require.Equal(t, Waiting, r.State)
	require.False(t, r.Uncounted, "a retry repeats the request before it")
	require.Contains(t, r.Message, `the step "start" was not sent: counting the requests`)
	require.Len(t, s.requests, 1)
}
