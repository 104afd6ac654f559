package webhook

import (
	"bytes"
	"context"
	"net/http"

	"github.com/servery-hub/servery/core"
)

// Exchange sends one request that the caller built, with the guard and limits of deliveries, and records it. It masks
// the headers in secret, even if the response repeats them. A response is not an error, whatever its status. Exchange
// always returns within the exchange timeout.
func (s *Sender) Exchange(ctx context.Context, method, url string, headers, secret map[string]string,
	body []byte) Attempt {
	a := Attempt{StartedAt: s.clock.Now(), URL: url}
	ctx, cancel := context.WithTimeout(ctx, s.config.ExchangeTimeout)
	defer cancel()
	trace := newTrace()
	request, err := http.NewRequestWithContext(trace.attach(ctx), method, url, bytes.NewReader(body))
	if err != nil {
		a.ErrorClass, a.Error = Protocol, "building the request failed: "+err.Error()
		return a
	}
	request.Header.Set("User-Agent", s.config.UserAgent)
	for _, values := range []map[string]string{headers, secret} {
		for name, value := range values {
			request.Header.Set(name, value)
		}
	}
	if trace := core.TraceFromContext(ctx); trace != "" {
		request.Header.Set(HeaderTrace, string(trace))
	}
	a.RequestHeaders = recordedHeaders(request.Header, secret)
	response, err := s.do(request, trace)
	if err == nil {
		err = s.read(response, &a, secret)
	}
	a.Timing, a.SentTwice = trace.timing(), trace.sentTwice
	if err != nil {
		a.ErrorClass, a.Error = classify(err, s.config, trace.handshaking.Load())
	}
	return a
}
