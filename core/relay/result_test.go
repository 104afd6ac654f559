package relay

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/retry"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPluginDecidesTheCallOutcome(t *testing.T) {
	for _, c := range []struct {
		name    string
		plan    Plan
		attempt Attempt
		outcome Outcome
		state   State
		message string
	}{
		{"2xx", Plan{}, Attempt{Status: 204}, Outcome{}, Done, ""},
		{"5xx is tried again", Plan{}, Attempt{Status: 503}, Outcome{}, Waiting,
			"the aggregator responded with 503 Service Unavailable"},
		{"a redirect is not followed", Plan{}, Attempt{Status: 302}, Outcome{}, Waiting,
			"the aggregator responded with 302 Found"},
		{"a final status", Plan{Success: Success{Final: []int{409}}}, Attempt{Status: 409}, Outcome{}, Failed,
			"the aggregator responded with 409 Conflict"},
		{"a status that is named", Plan{Success: Success{Statuses: []int{409}}}, Attempt{Status: 409}, Outcome{}, Done,
			""},
		{"2xx that is not named", Plan{Success: Success{Statuses: []int{201}}}, Attempt{Status: 200}, Outcome{},
			Waiting, "the aggregator responded with 200 OK"},
		{"the body says so", Plan{Success: Success{Pointer: "/a/0/b~1c", Equals: `"ok"`}},
			Attempt{Status: 200, ResponseBody: []byte(`{"a":[{"b/c":"ok"}]}`)}, Outcome{}, Done, ""},
		{"the body says otherwise", Plan{Success: Success{Pointer: "/ok", Equals: `true`}},
			Attempt{Status: 200, ResponseBody: []byte(`{"ok":false}`)}, Outcome{}, Waiting, "has no true at /ok"},
		{"the body says nothing", Plan{Success: Success{Pointer: "/ok", Equals: `null`}},
			Attempt{Status: 200, ResponseBody: []byte(`{}`)}, Outcome{}, Waiting, "has no null at /ok"},
		{"the body is no JSON", Plan{Success: Success{Pointer: "/ok", Equals: `true`}},
			Attempt{Status: 200, ResponseBody: []byte(`{`)}, Outcome{}, Waiting, "has no true"},
		{"no answer", Plan{}, Attempt{ErrorClass: "timeout", Error: "no connection within 3s"}, Outcome{}, Waiting,
			"no connection within 3s"},
		{"the plugin says it failed", Plan{}, Attempt{Status: 200},
			Outcome{State: OutcomeFailed, Message: "unknown rider"}, Failed, "unknown rider"},
		{"the plugin says it is done", Plan{}, Attempt{Status: 500}, Outcome{State: OutcomeDone}, Done, ""},
		{"the plugin says later", Plan{}, Attempt{Status: 202}, Outcome{State: OutcomePending, Message: "soon"},
			Pending, "soon"},
		{"a callback follows", Plan{}, Attempt{Status: 204}, Outcome{ByCallback: true}, Pending, ""},
		{"no callback follows a failure", Plan{}, Attempt{Status: 503}, Outcome{ByCallback: true}, Waiting,
			"the aggregator responded with 503 Service Unavailable"},
		{"the plugin says again", Plan{Success: Success{Final: []int{429}}}, Attempt{Status: 429},
			Outcome{State: OutcomeRetry}, Waiting, "the aggregator responded with 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(Call{}, c.plan, c.attempt, c.outcome, noon)
			require.Equal(t, c.state, r.State)
			require.Contains(t, r.Message, c.message)
			require.Equal(t, c.state == Waiting || c.state == Failed, r.Attempt.ErrorClass != "")
		})
	}
}

func TestCallRetriesBackOffExponentially(t *testing.T) {
	waits := retry.Default(time.Second).Waits()
	for attempts, wait := range waits {
		r := resultOf(Call{Attempts: attempts}, Plan{}, Attempt{Status: 500}, Outcome{}, noon)
		require.Equal(t, Waiting, r.State)
		require.Equal(t, noon.Add(wait), r.RetryAt)
	}
	require.Equal(t, Failed, resultOf(Call{Attempts: len(waits)}, Plan{}, Attempt{Status: 500}, Outcome{}, noon).State)
}

func TestCallRetryHonoursRetryAfter(t *testing.T) {
	waits := schedule().Waits()
	first, last := waits[0], waits[4]
	for _, c := range []struct {
		says     string
		attempts int
		wait     time.Duration
		asked    bool
	}{
		{"300", 0, 300 * time.Second, true},
		{"300", 4, 300 * time.Second, true},
		{noon.Add(90 * time.Second).Format(http.TimeFormat), 0, 90 * time.Second, true},
		{"1", 4, last, true},
		{"86400", 0, time.Hour, true},
		{noon.Add(24 * time.Hour).Format(http.TimeFormat), 0, time.Hour, true},
		{noon.Add(-time.Hour).Format(http.TimeFormat), 0, first, false},
		{"0", 0, first, false}, {"-5", 0, first, false}, {"soon", 0, first, false},
		{"", 0, first, false},
	} {
		for _, status := range []int{429, 503} {
			for _, outcome := range []Outcome{{}, {State: OutcomeRetry}} {
				r := resultOf(Call{Attempts: c.attempts}, Plan{},
					Attempt{Status: status, ResponseHeaders: map[string]string{"Retry-After": c.says}}, outcome, noon)
				require.Equal(t, []any{Waiting, c.wait}, []any{r.State, r.RetryAt.Sub(noon)}, "%q", c.says)
				require.Equal(t, status == 429 && c.asked, !r.RetryAfter.IsZero(), "%d %q", status, c.says)
			}
		}
	}
}

func TestUnreadableResponseFallsBackToThePlan(t *testing.T) {
	fell := errors.New("the plugin crashed")
	require.Equal(t, Outcome{}, interpretFailure(Plan{}, Response{Status: 400}, fell))
	require.Equal(t, OutcomeRetry, interpretFailure(Plan{}, Response{Status: 200}, fell).State)
	none := core.Errorf(core.NotFound, "this plugin reads no responses")
	require.Equal(t, Outcome{}, interpretFailure(Plan{}, Response{Status: 200}, none))
}

func TestCallWaitsOneDayForItsPlugin(t *testing.T) {
	c := Call{Since: noon, Attempts: 3}
	r := delayUnavailable(c, "it is not running", noon.Add(24*time.Hour-time.Second))
	require.Equal(t, []any{Waiting, true}, []any{r.State, r.Uncounted})
	require.Equal(t, Failed, delayUnavailable(c, "it is not running", noon.Add(24*time.Hour)).State)
}

func TestPlanIsCompletedWithURLAndSecrets(t *testing.T) {
	plan := Plan{
		Endpoint: "api", Hosts: []string{"*.agg.example", "other.example"}, Method: "POST", Path: "/v2/orders/a%2Fb",
		Query: map[string]string{"q": "1 2"},
		Body:  []byte("{}"), Secrets: []SecretHeader{{"Authorization", "token", "Bearer {secret}"}},
	}
	access := Access{BaseURLs: map[string]string{"api": "https://api.agg.example:8443/base/?v=3"},
		Secrets: map[string]string{"token": "s3{secret}"}}
	r, err := plan.buildRequest(access, "")
	require.NoError(t, err)
	require.Equal(t, "https://api.agg.example:8443/base/v2/orders/a%2Fb?q=1+2&v=3", r.URL)
	require.Equal(t, map[string]string{"Authorization": "Bearer s3{secret}"}, r.Secrets)

	for says, spoil := range map[string]func(*Plan, *Access){
		`no URL for the endpoint "x"`:   func(p *Plan, _ *Access) { p.Endpoint = "x" },
		"not an http or https URL":      func(_ *Plan, a *Access) { a.BaseURLs["api"] = "ftp://api.agg.example" },
		"not call the host agg.example": func(_ *Plan, a *Access) { a.BaseURLs["api"] = "https://agg.example" },
		"not call the host evilagg.example": func(_ *Plan,
			a *Access) {
			a.BaseURLs["api"] = "https://evilagg.example"
		},
		"not call the host 10.0.0.1": func(_ *Plan, a *Access) { a.BaseURLs["api"] = "http://10.0.0.1" },
		`has no secret "token"`:      func(_ *Plan, a *Access) { a.Secrets = nil },
		`secret "token" has a character`: func(_ *Plan,
			a *Access) {
			a.Secrets = map[string]string{"token": "s3\n"}
		},
		"the plan's path":        func(p *Plan, _ *Access) { p.Path = ".evil.example/x" },
		"the plan's path is not": func(p *Plan, _ *Access) { p.Path = "@evil.example/" },
	} {
		p, a := plan, Access{BaseURLs: map[string]string{"api": access.BaseURLs["api"]}, Secrets: access.Secrets}
		spoil(&p, &a)
		_, err := p.buildRequest(a, "")
		require.ErrorContains(t, err, says)
	}
}

func TestNoPathLeadsToAnotherHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := Plan{Endpoint: "api", Hosts: []string{"api.example"},
			Path: rapid.StringMatching(`[/@:.?#\\a-z%0-9]{0,12}`).Draw(t, "path")}
		r, err := plan.buildRequest(Access{BaseURLs: map[string]string{"api": "https://api.example"}}, "")
		if err == nil {
			require.Regexp(t, `^https://api\.example/`, r.URL)
		}
	})
}

func TestUnsentStepSaysNothingOfTheAggregator(t *testing.T) {
	earlier := []Attempt{{Step: "create", Status: 201}}
	unsent := Attempt{ErrorClass: notSentClass}
	for name, row := range map[string]struct {
		result Result
		want   queue.Response
	}{
		"responded":     {Result{Attempt: &earlier[0]}, queue.Responded},
		"no response":   {Result{Attempt: &Attempt{ErrorClass: "timeout"}, Earlier: earlier}, queue.NoResponse},
		"not sent":      {Result{Attempt: &unsent}, queue.NoRequest},
		"a later step":  {Result{Attempt: &unsent, Earlier: earlier}, queue.Responded},
		"limited":       {Result{}, queue.NoRequest},
		"only a token":  {Result{Earlier: []Attempt{{Status: 200}}}, queue.NoRequest},
		"limited later": {Result{Earlier: earlier}, queue.Responded},
	} {
		require.Equal(t, row.want, row.result.Response(), name)
	}
}
