package relay

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/step"
)

// respondingSender responds by the method and path of a request. It also records the requests.
type respondingSender struct {
	responses map[string]string // status and body, such as "201 {}"
	header    string
	requests  []Request
}

func (s *respondingSender) Send(_ context.Context, r Request) Attempt {
	s.requests = append(s.requests, r)
	place := r.Method + " " + strings.TrimPrefix(r.URL, "https://api.example")
	a := Attempt{Method: r.Method, URL: r.URL, RequestHeaders: r.Headers, RequestBody: r.Body}
	if r.KeepRaw {
		defer func() { a.Raw = a.ResponseBody }()
	}
	response, known := s.responses[place]
	if !known {
		a.Status, a.ErrorClass, a.Error = 0, "connect", "no response to "+place
		return a
	}
	status, body, _ := strings.Cut(response, " ")
	_, _ = fmt.Sscan(status, &a.Status)
	a.ResponseBody, a.ResponseHeaders = []byte(body), map[string]string{"X-Echo": s.header}
	if r.KeepRaw {
		a.Raw = []byte(body)
	}
	return a
}

func (s *respondingSender) called() (list []string) {
	for _, r := range s.requests {
		list = append(list, r.Method+" "+strings.TrimPrefix(r.URL, "https://api.example"))
	}
	return list
}

func stepRequest(method, path string) Plan {
	return Plan{Endpoint: "api", Hosts: []string{"api.example", "files.example"}, Method: method, Path: path}
}

// uploadSteps creates an upload, and sends the menu with the values of the response.
func uploadSteps() []Step {
	upload := stepRequest("PUT", "/uploads/{create.id}")
	upload.Headers = map[string]string{"X-Upload": "key {create.key}"}
	upload.Query = map[string]string{"of": "{create.id}"}
	return []Step{
		{Name: "create", Request: stepRequest("POST", "/uploads"), Body: step.Body{Raw: []byte(`{}`)},
			Take: []step.Take{{Name: "id", Pointer: "/id", MaxLength: 20},
				{Name: "key", Pointer: "/key", MaxLength: 20, Secret: true}}},
		{Name: "upload", Request: upload, Body: step.Body{Raw: []byte(`{"key":"{create.key}","menu":"{create.id}"}`),
			Fill: []string{"/key"}}},
		{Name: "start", Request: stepRequest("POST", "/jobs")},
	}
}

func (s *respondingSender) dispatch(ctx context.Context, d Dispatcher, steps []Step,
	interpret Interpret) Result {
	if d.Clock == nil {
		d.Clock = clocktest.New()
	}
	return s.dispatchCall(ctx, d, Call{ID: core.NewID(time.Now()), Since: d.Clock.Now()}, steps, interpret)
}

func (s *respondingSender) dispatchCall(ctx context.Context, d Dispatcher, c Call, steps []Step,
	interpret Interpret) Result {
	d.Sender, d.Log = s, slog.New(slog.DiscardHandler)
	access := Access{BaseURLs: map[string]string{"api": "https://api.example"}, Secrets: map[string]string{"key": "k"}}
	if interpret == nil {
		interpret = func(context.Context, Response) (Outcome, error) { return Outcome{}, nil }
	}
	return d.Send(ctx, c, Plan{Steps: steps}, access, interpret)
}

// reader returns an interpretation that notes the response.
func reader(seen *Response, outcome Outcome) Interpret {
	return func(_ context.Context, response Response) (Outcome, error) {
		*seen = response
		return outcome, nil
	}
}

func TestStepsUseValuesOfEarlierResponses(t *testing.T) {
	s := &respondingSender{responses: map[string]string{"POST /uploads": `201 {"id":"u 1","key":"s3cret-key"}`,
		"PUT /uploads/u%201?of=u+1": `200 {"echo":"s3cret-key"}`, "POST /jobs": `202 {}`}}
	var seen Response
	r := s.dispatch(t.Context(), Dispatcher{}, uploadSteps(), reader(&seen, Outcome{}))
	require.Equal(t, Done, r.State, r.Message)
	require.Equal(t, []string{"POST /uploads", "PUT /uploads/u%201?of=u+1", "POST /jobs"}, s.called())
	require.Equal(t, "key s3cret-key", s.requests[1].Secrets["X-Upload"])
	require.JSONEq(t, `{"key":"s3cret-key","menu":"{create.id}"}`, string(s.requests[1].Body))

	require.Equal(t, []string{"create", "upload"}, []string{r.Earlier[0].Step, r.Earlier[1].Step})
	require.Equal(t, "start", r.Attempt.Step)
	require.Equal(t, "start", seen.Step)
	require.Equal(t, `{"id":"u 1","key":"••••••"}`, string(seen.Earlier[0].Body))
	for _, a := range append(r.Earlier, *r.Attempt) {
		text := a.URL + string(a.RequestBody) + string(a.ResponseBody) + fmt.Sprint(a.ResponseHeaders)
		require.NotContains(t, text, "s3cret-key")
	}
	require.Equal(t, `{"key":"••••••","menu":"{create.id}"}`, string(r.Earlier[1].RequestBody))
}

func TestFailedStepEndsTheSequence(t *testing.T) {
	const created = `201 {"id":"u","key":"s3cret"}`
	long := `201 {"id":"` + strings.Repeat("u", 1<<20) + `","key":"s3cret"}`
	for name, row := range map[string]struct {
		create, upload string
		outcome        Outcome
		state          State
		message        string
		calls          int
		interpreted    string
	}{
		"the first fails":  {"500 {}", "", Outcome{}, Waiting, "responded with 500", 1, "create"},
		"the second fails": {created, "409 {}", Outcome{}, Waiting, "responded with 409", 2, "upload"},
		"the plugin decides": {created, "409 {}", Outcome{State: OutcomeFailed, Message: "known"}, Failed, "known", 2,
			"upload"},
		"no response": {created, "", Outcome{}, Waiting, "no response", 2, ""},
		"a value is missing": {`201 {"id":"u"}`, "", Outcome{State: OutcomeDone}, Waiting,
			`"create" has no text or number at /key`, 1, ""},
		"a value is too long": {long, "", Outcome{}, Waiting, "more than 20 bytes at /id", 1, ""},
		"a value is a path": {`201 {"id":"../x","key":"s3cret"}`, "", Outcome{}, Waiting,
			"{create.id} cannot be a part of a path", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &respondingSender{responses: map[string]string{"POST /uploads": row.create}}
			if row.upload != "" {
				s.responses["PUT /uploads/u?of=u"] = row.upload
			}
			var seen Response
			r := s.dispatch(t.Context(), Dispatcher{}, uploadSteps(), reader(&seen, row.outcome))
			require.Equal(t, row.state, r.State, r.Message)
			require.Contains(t, r.Message, row.message)
			require.Len(t, s.requests, row.calls)
			require.Equal(t, row.interpreted, seen.Step)
		})
	}
}

func TestUntakenSecretsAreMasked(t *testing.T) {
	long := strings.Repeat("live-token", 9)
	for name, row := range map[string]struct{ response, seen, echo string }{
		"another value is missing": {`201 {"key":"live-token"}`, `{"key":"••••••"}`, "live-token"},
		"another status":           {`409 {"key":"live-token"}`, `{"key":"••••••"}`, "live-token"},
		"too long":                 {`201 {"id":"u","key":"` + long + `"}`, `{"id":"u","key":"••••••"}`, long},
		"too short":                {`201 {"id":"u","key":"live"}`, "••••••", ""},
		"a number":                 {`201 {"id":"u","key":48151623}`, "••••••", "48151623"},
		"an object":                {`201 {"id":"u","key":{"is":"live-token"}}`, "••••••", ""},
		"cut":                      {`409 {"key":"live-token","id":"`, "••••••", ""},
		"no secret":                {`409 {"error":"exists"}`, `{"error":"exists"}`, ""},
		"an empty secret":          {`409 {"error":"exists","key":""}`, `{"error":"exists","key":""}`, ""},
		"other escapes": {`201 {"id":"u","key":"ab\u002Bcd/ef"}`, `{"id":"u","key":"••••••"}`,
			`ab\u002Bcd/ef and ab+cd/ef`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &respondingSender{responses: map[string]string{"POST /uploads": row.response},
				header: "of " + row.echo}
			s.responses["PUT /uploads/u?of=u"] = `409 {"echo":"` + row.echo + `"}`
			var seen Response
			r := s.dispatch(t.Context(), Dispatcher{}, uploadSteps(), reader(&seen, Outcome{}))
			require.Equal(t, Waiting, r.State, r.Message)
			first := append(r.Earlier, *r.Attempt)[0]
			require.Equal(t, row.seen, string(first.ResponseBody))
			if text := fmt.Sprint(r, first.ResponseHeaders, string(r.Attempt.ResponseBody),
				string(seen.Body)); row.echo != "" {
				require.NotContains(t, text, row.echo)
				require.NotContains(t, text, "ab+cd")
			}
		})
	}
}

func TestRepeatedSecretsAreKeptOnce(t *testing.T) {
	var s sequence
	next := Step{Take: []step.Take{{Name: "key", Pointer: "/key", MaxLength: 20, Secret: true}}}
	var first int
	for range 3 {
		a := Attempt{Raw: []byte(`{"key":"live/token"}`), URL: "https://api.example/live%2Ftoken",
			ResponseBody: []byte(`{"key":"live/token"}`), ResponseHeaders: map[string]string{"X-Echo": "of live/token"}}
		s.hide(&a, next)
		require.NotContains(t, fmt.Sprint(a.URL, string(a.ResponseBody), a.ResponseHeaders), "live")
		if first == 0 {
			first = len(s.secrets)
		}
	}
	require.Positive(t, first)
	require.Len(t, s.secrets, first)
}

func TestRulesReadTheUnmaskedResponse(t *testing.T) {
	steps := uploadSteps()[:2]
	steps[1].Request.Success = Success{Pointer: "/session", Equals: `"s3cret-key"`}
	s := &respondingSender{responses: map[string]string{"POST /uploads": `201 {"id":"u","key":"s3cret-key"}`,
		"PUT /uploads/u?of=u": `200 {"session":"s3cret-key"}`}}
	var seen Response
	r := s.dispatch(t.Context(), Dispatcher{}, steps, reader(&seen, Outcome{}))
	require.Equal(t, Done, r.State, r.Message)
	require.Equal(t, `{"session":"••••••"}`, string(seen.Body))
}

func TestPagesFollowTheCursor(t *testing.T) {
	list := stepRequest("GET", "/menus")
	steps := []Step{{Name: "list", Request: list, Pages: Pages{Pointer: "/next", Query: "cursor", Max: 3}},
		{Name: "end", Request: stepRequest("POST", "/end")}}
	for name, row := range map[string]struct {
		responses map[string]string
		state     State
		pages     int
		message   string
	}{
		"one": {map[string]string{"GET /menus": `200 {"next":null}`}, Done, 1, ""},
		"three": {map[string]string{"GET /menus": `200 {"next":"b c"}`, "GET /menus?cursor=b+c": `200 {"next":3}`,
			"GET /menus?cursor=3": `200 {"next":false}`}, Done, 3, ""},
		"too many": {map[string]string{"GET /menus": `200 {"next":"b"}`, "GET /menus?cursor=b": `200 {"next":"c"}`,
			"GET /menus?cursor=c": `200 {"next":"d"}`}, Failed, 0, "more than 3 pages"},
		"a loop": {map[string]string{"GET /menus": `200 {"next":"b"}`, "GET /menus?cursor=b": `200 {"next":"b"}`},
			Waiting, 0, "names itself or an earlier page"},
		"a long cursor": {map[string]string{"GET /menus": `200 {"next":"` + strings.Repeat("b", 2000) + `"}`},
			Waiting, 0, "a cursor with more than 1024 bytes"},
		"a failing page": {map[string]string{"GET /menus": `200 {"next":"b"}`, "GET /menus?cursor=b": `503 {}`},
			Waiting, 0, "responded with 503"},
	} {
		t.Run(name, func(t *testing.T) {
			row.responses["POST /end"] = "200 {}"
			s := &respondingSender{responses: row.responses}
			var seen Response
			r := s.dispatch(t.Context(), Dispatcher{}, steps, reader(&seen, Outcome{}))
			require.Equal(t, row.state, r.State, r.Message)
			require.Contains(t, r.Message, row.message)
			if row.state == Done {
				require.Len(t, seen.Earlier[0].Pages, row.pages)
				require.Len(t, s.requests, row.pages+1)
			}
		})
	}
}

func TestStepsStayBelowTheSizeLimit(t *testing.T) {
	s := &respondingSender{responses: map[string]string{}}
	const pages = maxStepResponses>>16 + 1
	for n := range pages {
		s.responses[strings.TrimSuffix(fmt.Sprint("GET /a?cursor=", n), "?cursor=0")] =
			fmt.Sprintf(`200 {"next":%d,"list":"%s"}`, n+1, strings.Repeat("x", 64<<10))
	}
	r := s.dispatch(t.Context(), Dispatcher{}, []Step{{Name: "list", Request: stepRequest("GET", "/a"),
		Pages: Pages{Pointer: "/next", Query: "cursor", Max: pages + 1}}}, nil)
	require.Equal(t, Failed, r.State)
	require.Contains(t, r.Message, "more than 8 MiB")
}

func TestURLOfAResponseMustBeAllowed(t *testing.T) {
	for address, message := range map[string]string{
		"https://files.example/a?sig=s3cret": "",
		"https://other.example/a":            `has a host that the endpoint "api" does not allow`,
		"https://files.example:8443/a":       "has a port that is not that of the endpoint",
		"http://files.example/a":             "must use https", "/a": "is not an http or https URL",
	} {
		s := &respondingSender{responses: map[string]string{"POST /uploads": `201 {"url":"` + address + `"}`,
			"PUT https://files.example/a?sig=s3cret": "200 {}"}}
		r := s.dispatch(t.Context(), Dispatcher{}, []Step{{Name: "create", Request: stepRequest("POST", "/uploads"),
			Take: []step.Take{{Name: "url", Pointer: "/url", MaxLength: 100, Secret: message == ""}}},
			{Name: "upload", Request: stepRequest("PUT", ""), URL: "{create.url}"}}, nil)
		if message == "" {
			require.Equal(t, Done, r.State, r.Message)
			require.Equal(t, "https://files.example/••••••", r.Attempt.URL)
			continue
		}
		require.Equal(t, Waiting, r.State)
		require.Contains(t, r.Message, message)
		require.Len(t, s.requests, 1)
	}
}

func TestStepsRenewTheirTokens(t *testing.T) {
	steps := uploadSteps()
	steps[2].Request.Credentials = []Credential{{Name: "partner", OAuth2: &OAuth2{}}}
	sender := &scriptedSender{statuses: []int{201, 200, 401, 202}}
	raw := rawSender{sender, `{"id":"u","key":"s3cret"}`}
	tokens := &scriptedTokens{tokens: []Token{{Value: "old"}, {Value: "new", Fresh: true}}, errs: []error{nil, nil}}
	d := Dispatcher{Sender: raw, Tokens: tokens, Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)}
	r := d.Send(t.Context(), Call{ID: core.NewID(time.Now())}, Plan{Steps: steps},
		Access{BaseURLs: map[string]string{"api": "https://api.example"}},
		func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
	require.Equal(t, Done, r.State, r.Message)
	require.Len(t, sender.requests, 4)
	require.Equal(t, "Bearer new", sender.requests[3].Secrets["Authorization"])
	require.Equal(t, []string{"create", "upload", "start"},
		[]string{r.Earlier[0].Step, r.Earlier[1].Step, r.Earlier[2].Step})
}

func TestRejectedTokenKeepsNoSecretURL(t *testing.T) {
	upload := stepRequest("PUT", "")
	upload.Credentials = []Credential{{Name: "partner", OAuth2: &OAuth2{}}}
	steps := []Step{{Name: "create", Request: stepRequest("POST", "/uploads"),
		Take: []step.Take{{Name: "url", Pointer: "/url", MaxLength: 100, Secret: true}}},
		{Name: "upload", Request: upload, URL: "{create.url}"}}
	sender := &scriptedSender{statuses: []int{201, 401, 200}}
	tokens := &scriptedTokens{tokens: []Token{{Value: "old"}, {Value: "new", Fresh: true}}, errs: []error{nil, nil}}
	d := Dispatcher{Sender: rawSender{sender, `{"url":"HTTPS://files.example/a?sig=s3cret"}`}, Tokens: tokens,
		Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)}
	r := d.Send(t.Context(), Call{ID: core.NewID(time.Now())}, Plan{Steps: steps},
		Access{BaseURLs: map[string]string{"api": "https://api.example"}},
		func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
	require.Equal(t, Done, r.State, r.Message)
	require.Len(t, r.Earlier, 2)
	for _, a := range []Attempt{r.Earlier[1], *r.Attempt} {
		require.Equal(t, "https://files.example/••••••", a.URL)
	}
}

// rawSender adds a response body to each attempt of another sender.
type rawSender struct {
	Sender
	body string
}

func (s rawSender) Send(ctx context.Context, r Request) Attempt {
	a := s.Sender.Send(ctx, r)
	a.ResponseBody, a.Raw = []byte(s.body), []byte(s.body)
	return a
}

// scriptedRates returns the times one by one.
type scriptedRates struct {
	waits  []time.Duration
	clock  core.Clock
	latest []time.Duration
}

func (s *scriptedRates) Reserve(_ context.Context, _ RateKey, _ RateLimit, latest time.Time) (time.Time, error) {
	s.latest = append(s.latest, latest.Sub(s.clock.Now()))
	return s.clock.Now().Add(s.waits[len(s.latest)-1]), nil
}

func TestLaterRateLimitUsesAnAttempt(t *testing.T) {
	steps := uploadSteps()[:1]
	steps[0].Request.RateLimit = RateLimit{Requests: 1, Period: time.Minute}
	steps = append(steps, Step{Name: "start", Request: steps[0].Request})
	steps[1].Request.Path = "/jobs"
	responses := map[string]string{"POST /uploads": `201 {"id":"u","key":"s3cret"}`}
	for name, row := range map[string]struct {
		waits     []time.Duration
		uncounted bool
		requests  int
	}{
		"the first": {[]time.Duration{time.Minute}, true, 0},
		"a later":   {[]time.Duration{0, time.Minute}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktest.New()
			s, rates := &respondingSender{responses: responses}, &scriptedRates{waits: row.waits, clock: clock}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r := s.dispatch(ctx, Dispatcher{Rates: rates, Clock: clock}, steps, nil)
			require.Equal(t, Waiting, r.State)
			require.Equal(t, row.uncounted, r.Uncounted)
			require.Len(t, s.requests, row.requests)
			require.Equal(t, row.uncounted, !r.RetryAfter.IsZero(), "only the first pauses the platform")
			require.Equal(t, clock.Now().Add(time.Minute), r.RetryAt)
			require.Equal(t, maxRateWait, rates.latest[0])
			if !row.uncounted {
				require.Greater(t, rates.latest[1], 10*time.Second)
			}
		})
	}
}

func TestStepsEndBeforeTheLease(t *testing.T) {
	s := &respondingSender{responses: map[string]string{"POST /uploads": `201 {"id":"u","key":"s3cret"}`}}
	ctx, cancel := context.WithTimeout(t.Context(), planTimeout+minStepTime)
	defer cancel()
	r := s.dispatch(ctx, Dispatcher{}, uploadSteps(), nil)
	require.Equal(t, Waiting, r.State)
	require.False(t, r.Uncounted)
	require.Contains(t, r.Message, "took all the time of one attempt")
	require.Len(t, s.requests, 1)
	require.Equal(t, "upload", r.Attempt.Step)
}
