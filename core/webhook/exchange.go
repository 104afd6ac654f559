package webhook

import (
	"bytes"
	"context"
	"net/http"

	"github.com/servery-hub/servery/core"
)

// Request is a request for Sender.Exchange.
type Request struct {
	Method, URL string
	Headers     map[string]string
	Secrets     map[string]string // headers whose values are masked in the record, even where the response repeats them
	Body        []byte
	Certificate *Certificate // of this client; nil: none
	Unmasked    bool         // the response is recorded as it came: the caller masks it
	KeepRaw     bool         // the attempt has the response also as it came
}

// Exchange sends one request that the caller built, with the guard and limits of deliveries, and records it. A
// response is not an error, whatever its status. Exchange always returns within the exchange timeout.
func (s *Sender) Exchange(ctx context.Context, r Request) Attempt {
	a := Attempt{StartedAt: s.clock.Now(), URL: r.URL, keepRaw: r.KeepRaw}
	ctx, cancel := context.WithTimeout(ctx, s.config.ExchangeTimeout)
	defer cancel()
	trace := newTrace()
	request, err := http.NewRequestWithContext(trace.attach(ctx), r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		a.ErrorClass, a.Error = Protocol, "building the request failed: "+err.Error()
		return a
	}
	request.Header.Set("User-Agent", s.config.UserAgent)
	for _, values := range []map[string]string{r.Headers, r.Secrets} {
		for name, value := range values {
			request.Header.Set(name, value)
		}
	}
	if trace := core.TraceFromContext(ctx); trace != "" {
		request.Header.Set(HeaderTrace, string(trace))
	}
	a.RequestHeaders = recordedHeaders(request.Header, r.Secrets)
	clients, err := s.clients(r.Certificate)
	if err != nil {
		a.ErrorClass, a.Error = TLS, err.Error()
		return a
	}
	response, err := clients.do(request, trace, s.config)
	if err == nil {
		masked := r.Secrets
		if r.Unmasked {
			masked = nil
		}
		err = s.read(response, &a, masked)
	}
	a.Timing, a.SentTwice = trace.timing(), trace.sentTwice
	if err != nil {
		a.ErrorClass, a.Error = classify(err, s.config, trace.handshaking.Load())
	}
	return a
}
