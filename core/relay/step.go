package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/step"
	"github.com/servery-hub/servery/core/webhook"
)

// Step is one request of a plan with steps.
type Step struct {
	Name    string
	Request Plan   // without a body; path, query and headers have placeholders
	URL     string // a placeholder for a URL, instead of the path
	Body    step.Body
	Take    []step.Take
	Pages   Pages
	Reuse   time.Duration // how long later attempts reuse its values; 0: never
}

// Pages specifies how a step requests further pages. The zero value is one page.
type Pages struct {
	Pointer string // of the next page's cursor, in the response
	Query   string // the parameter with the cursor
	Max     int
}

// Bounds of the steps of one attempt.
const (
	// minStepTime is the least time for a request after the first.
	minStepTime = 3 * time.Second
	// maxStepResponses bounds the bytes of all responses. It is below the limit of a message to a plugin.
	maxStepResponses = 8 << 20
	// maxCursor bounds the bytes of a page's cursor.
	maxCursor = 1 << 10
	// maxRecordedStep bounds the bytes of a request body that are masked for the record, which has less.
	maxRecordedStep = 32 << 10
)

// sequence is one attempt at a plan with steps.
type sequence struct {
	exchange
	values    step.Values
	responses []Response      // of the steps that succeeded
	omitted   int             // successful requests that are not recorded
	received  int             // bytes of all responses
	sent      bool            // a request was sent
	unsaved   bool            // a retry would repeat a request that was sent
	saved     bool            // all steps before this one are stored
	progress  bool            // this attempt has completed and stored steps
	count     int             // of the steps
	secrets   map[string]bool // of all responses
	stored    storedSteps
}

// stepResult is the end of one step.
type stepResult struct {
	attempt  Attempt
	response Response
	failed   bool   // by the step's own rule, or without a response
	unusable string // why the response does not allow the next step
	final    bool   // of unusable: a retry has the same result
}

// errLate means that the steps before it took too long.
var errLate = errors.New("the steps before it took all the time of one attempt")

// send makes the requests of the steps in order. The first that fails ends the attempt. Every request ends in time to
// interpret and record the responses within the lease.
func (s *sequence) send(ctx context.Context, interpret Interpret) Result {
	requests, steps := ctx, s.plan.Steps
	s.count = len(steps)
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		requests, cancel = context.WithDeadline(ctx, end.Add(-planTimeout))
		defer cancel()
	}
	s.stored = decodeSteps(s.call, s.Clock.Now())
	for i, next := range steps {
		s.plan = next.Request
		if i < len(steps)-1 && s.reuse(i, next) {
			continue
		}
		recorded := len(s.earlier)
		s.saved = !s.unsaved
		r, err := s.run(requests, next)
		outdated := r.failed && s.stored.haveValues() && isOutdated(r.attempt.Status, s.plan)
		if isUnusable(err) || r.unusable != "" || outdated {
			s.discard(ctx)
		}
		if !r.failed {
			s.plan.Success.Pointer = "" // the response met the rule before it was masked
		}
		switch {
		case err != nil:
			return s.unsent(next, err)
		case r.unusable != "":
			outcome := Outcome{State: OutcomeRetry, Message: r.unusable}
			if r.final {
				outcome.State = OutcomeFailed
			}
			result := resultOf(s.call, s.plan, r.attempt, outcome, s.Clock.Now())
			result.Earlier = s.earlier
			return result
		case r.failed || i == len(steps)-1:
			r.response.Earlier = s.responses
			return s.end(ctx, r, interpret)
		}
		s.complete(i, r, recorded)
		if err := s.save(ctx, next, r.response.Status); err != nil {
			return s.unsent(steps[i+1], err)
		}
	}
	return s.unsent(Step{}, errors.New("the plan has no steps")) // Send does not call it then
}

// unsent returns the result of a step whose request was not sent. The call does not wait for a rate limit without using
// an attempt if that would repeat an earlier request without end. Only a limit of the first step pauses other calls.
func (s *sequence) unsent(next Step, err error) Result {
	var limited limitedError
	isLimited := errors.As(err, &limited)
	if isLimited && (!s.sent || s.reusableAt(limited.until)) {
		result := s.notSent(err)
		if result.Omitted = s.omitted; len(s.responses) > 0 {
			result.RetryAfter = time.Time{}
		}
		return result
	}
	if errors.Is(err, errLate) && s.continuesAt(s.Clock.Now()) {
		return s.continued()
	}
	if isLimited { // not to be taken for a limit of the first request
		err = fmt.Errorf("the step %q was not sent: %s", next.Name, limited.Error())
	}
	result := s.notSent(err)
	result.Attempt.Step, result.Attempt.Method = next.Name, next.Request.Method
	if errors.Is(err, errLeaseLost) {
		result = recordOnly(result, s.Clock.Now())
		result.LeaseLost = true
	}
	if result.State == Waiting && limited.until.After(result.RetryAt) {
		result.RetryAt = limited.until
	}
	return result
}

// run makes the request of a step, or the requests of its pages, and takes its values.
func (s *sequence) run(ctx context.Context, next Step) (r stepResult, err error) {
	var cursors []string
	var pages [][]byte
	for cursor := ""; ; {
		if r.attempt, err = s.request(ctx, next, cursor); err != nil {
			return r, err
		}
		raw := r.attempt.Raw
		s.received += len(raw)
		failure := next.Request.Success.failure(Response{Status: r.attempt.Status, Body: raw})
		if r.failed = r.attempt.ErrorClass != "" || failure != ""; !r.failed {
			r.unusable, r.final = s.take(next, raw)
		}
		following, _ := step.Text(raw, next.Pages.Pointer)
		s.hide(&r.attempt, next)
		r.response = responseOf(r.attempt)
		r.response.Step = next.Name
		if next.Pages.Max > 0 {
			pages = append(pages, r.response.Body)
			r.response.Pages = pages
		}
		if next.Pages.Max == 0 || r.failed || r.unusable != "" || following == "" || following == "false" {
			return r, nil
		}
		cursor, cursors = following, append(cursors, cursor)
		switch {
		case len(pages) == next.Pages.Max:
			r.unusable, r.final = fmt.Sprintf("the step %q has more than %d pages", next.Name, next.Pages.Max), true
			return r, nil
		case len(cursor) > maxCursor:
			r.unusable = fmt.Sprintf("a page of the step %q has a cursor with more than %d bytes", next.Name, maxCursor)
			return r, nil
		case slices.Contains(cursors, cursor):
			r.unusable = fmt.Sprintf("a page of the step %q names itself or an earlier page as the next one", next.Name)
			return r, nil
		}
		s.earlier = append(s.earlier, r.attempt)
	}
}

// take takes the values of a response. It returns why that is not possible.
func (s *sequence) take(next Step, raw []byte) (unusable string, final bool) {
	if s.received > maxStepResponses {
		return fmt.Sprintf("the responses have more than %d MiB, at the step %q", maxStepResponses>>20, next.Name), true
	}
	if err := s.values.Take(next.Name, next.Take, raw); err != nil {
		return err.Error(), false
	}
	return "", false
}

// request makes one request of a step.
func (s *sequence) request(ctx context.Context, next Step, cursor string) (Attempt, error) {
	if end, limited := ctx.Deadline(); s.sent && limited && time.Until(end) < s.leastTime() {
		return Attempt{}, errLate
	}
	x, err := s.fill(next, cursor)
	if err != nil {
		return Attempt{}, unusableError{err}
	}
	attempt, err := x.run(ctx)
	safeURL := "" // of a request with a secret URL
	if s.values.HasSecret(next.URL) {
		safeURL = x.plan.target.Scheme + "://" + x.plan.target.Host + "/" + webhook.Masked
	}
	for i := range x.earlier {
		if a := &x.earlier[i]; safeURL != "" && a.Raw != nil { // not a request of a token
			a.URL = safeURL
		}
		s.hide(&x.earlier[i], next)
		x.earlier[i].Step = next.Name
	}
	s.earlier = append(s.earlier, x.earlier...)
	if err == nil {
		s.sent, s.unsaved = true, true
	}
	attempt.Step = next.Name
	if safeURL != "" {
		attempt.URL = safeURL
	}
	return attempt, err
}

// fill returns the exchange of a step, with its placeholders replaced.
func (s *sequence) fill(next Step, cursor string) (x exchange, err error) {
	x = s.exchange
	x.earlier, x.stepped, x.later, x.plan = nil, true, s.unsaved, next.Request
	p := &x.plan
	if p.Path, err = s.values.Path(p.Path); err != nil {
		return x, err
	}
	if next.URL != "" {
		if p.target, err = s.target(next); err != nil {
			return x, err
		}
	}
	p.Query, p.Headers, p.secrets = map[string]string{}, map[string]string{}, map[string]string{}
	for name, value := range next.Request.Query {
		if p.Query[name], err = s.values.Text(value); err != nil {
			return x, err
		}
	}
	if cursor != "" {
		p.Query[next.Pages.Query] = cursor
	}
	for name, value := range next.Request.Headers {
		into := p.Headers
		if s.values.HasSecret(value) {
			into = p.secrets
		}
		if into[name], err = s.values.Header(value); err != nil {
			return x, err
		}
	}
	body, err := next.Body.Encode(s.values)
	if err != nil {
		return x, err
	}
	p.Body, x.plain = body.Body, body.Plain[:min(len(body.Plain), maxRecordedStep)]
	maps.Copy(p.Headers, body.Headers)
	return x, nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// target returns the URL of a step that a response named. The endpoint must allow its host, and it is as safe as the
// endpoint's own URL.
func (s *sequence) target(next Step) (*url.URL, error) {
	base, err := s.access.EndpointURL(next.Request.Endpoint, next.Request.Hosts, "/")
	if err != nil {
		return nil, err
	}
	target, err := s.values.URL(next.URL)
	if err != nil {
		return nil, err
	}
	if target.Scheme != base.Scheme && target.Scheme != "https" {
		return nil, fmt.Errorf("the URL of the step %q must use https", next.Name)
	}
	if hasForeignPort(target, base) {
		return nil, fmt.Errorf("the URL of the step %q has a port that is not that of the endpoint %q", next.Name,
			next.Request.Endpoint)
	}
	if !AllowsHost(next.Request.Hosts, target.Hostname()) {
		return nil, fmt.Errorf("the URL of the step %q has a host that the endpoint %q does not allow", next.Name,
			next.Request.Endpoint)
	}
	return target, nil
}

// hide masks secret values in the record of an attempt, and drops the response as it came. It also masks the values of
// a step that fails. A response that is still not safe is masked as a whole.
func (s *sequence) hide(a *Attempt, next Step) {
	raw := a.Raw
	a.Raw = nil
	if s.secrets == nil {
		s.secrets = map[string]bool{}
	}
	for _, secret := range append(step.Secrets(next.Take, raw), s.values.Secrets()...) {
		s.secrets[secret], s.secrets[url.PathEscape(secret)] = true, true
	}
	if len(s.secrets) > 0 {
		a.mask(webhook.NewMasker(slices.Collect(maps.Keys(s.secrets))...).Apply)
	}
	if len(raw) > 0 && !step.Hides(next.Take, a.ResponseBody, webhook.Masked) {
		a.ResponseBody = []byte(webhook.Masked)
	}
}

// mask replaces all texts of an attempt that may have secrets.
func (a *Attempt) mask(mask func(string) string) {
	a.URL, a.Error = mask(a.URL), mask(a.Error)
	a.RequestBody, a.ResponseBody = []byte(mask(string(a.RequestBody))), []byte(mask(string(a.ResponseBody)))
	for _, headers := range []*map[string]string{&a.RequestHeaders, &a.ResponseHeaders} {
		masked := make(map[string]string, len(*headers))
		for name, value := range *headers {
			masked[name] = mask(value)
		}
		*headers = masked
	}
}
