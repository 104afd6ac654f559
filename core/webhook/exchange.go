package webhook

import (
	"bytes"
	"context"
	"net/http"

	"github.com/servery-hub/servery/core"
)

// Exchange makes one request of another's making, with the guard and within the
// bounds of deliveries, and records it; the headers in secret are masked there,
// also where the answer repeats them.
// An answer is no failure, whatever its status. It always returns within the
// exchange timeout.
func (s *Sender) Exchange(ctx context.Context, method, url string, headers, secret map[string]string, body []byte) Attempt {
	a := Attempt{StartedAt: s.clock.Now(), URL: url}
	ctx, cancel := context.WithTimeout(ctx, s.config.ExchangeTimeout)
	defer cancel()
	trace := newTrace()
	request, err := http.NewRequestWithContext(trace.attach(ctx), method, url, bytes.NewReader(body))
	if err != nil {
		a.ErrorClass, a.Error = Protocol, "the request could not be built: "+err.Error()
		return a
	}
	request.Header.Set("User-Agent", s.config.UserAgent)
	for _, given := range []map[string]string{headers, secret} {
		for name, value := range given {
			request.Header.Set(name, value)
		}
	}
	if trace := core.TraceOf(ctx); trace != "" {
		request.Header.Set(HeaderTrace, string(trace))
	}
	a.RequestHeaders = shown(request.Header, secret)
	response, err := s.once(request, trace)
	if err == nil {
		err = s.read(response, &a, secret)
	}
	a.Timing = trace.timing()
	if err != nil {
		a.ErrorClass, a.Error = classify(err, s.config, trace.shaking.Load())
	}
	return a
}
