package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
)

// SenderConfig bounds an exchange with an endpoint. Zero values take the defaults.
type SenderConfig struct {
	ConnectTimeout  time.Duration // 3 s
	ExchangeTimeout time.Duration // 5 s, from lookup to the last byte read
	ReadLimit       int64         // 64 KiB of the response are read
	KeepLimit       int           // 4 KiB of them are kept
	IdlePerHost     int           // 32 kept-alive connections to a host
	TLS             *tls.Config   // for tests with a certificate authority of their own
	UserAgent       string
}

func (c SenderConfig) withDefaults() SenderConfig {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 3*time.Second)
	c.ExchangeTimeout = cmp.Or(c.ExchangeTimeout, 5*time.Second)
	c.ReadLimit = cmp.Or(c.ReadLimit, 64<<10)
	c.KeepLimit = cmp.Or(c.KeepLimit, 4<<10)
	c.IdlePerHost = cmp.Or(c.IdlePerHost, 32)
	c.UserAgent = cmp.Or(c.UserAgent, "Servery")
	return c
}

// Sender posts deliveries. It keeps connections alive, speaks HTTP/2 where the
// endpoint offers it, follows no redirect, uses no proxy, and connects only to
// addresses that the guard allows.
type Sender struct {
	config SenderConfig
	client *http.Client
	anew   *http.Client // every request over a connection of its own
	clock  core.Clock
}

// NewSender makes a sender.
func NewSender(config SenderConfig, guard *Guard, clock core.Clock) *Sender {
	config = config.withDefaults()
	dialer := &net.Dialer{Timeout: config.ConnectTimeout, Control: guard.control}
	kept := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config.TLS,
		TLSHandshakeTimeout:    config.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a compressed bomb would slip past the read limit
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    config.IdlePerHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		// A connection that died silently fails what is under way, and nothing after it:
		// exchanges that run out of time leave an HTTP/2 connection in use.
		HTTP2: &http.HTTP2Config{SendPingTimeout: config.ExchangeTimeout * 2 / 5, PingTimeout: config.ExchangeTimeout / 5},
	}
	own := kept.Clone()
	own.DisableKeepAlives = true
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{
		config: config, clock: clock,
		client: &http.Client{Transport: kept, CheckRedirect: stay},
		anew:   &http.Client{Transport: own, CheckRedirect: stay},
	}
}

// Close drops the kept-alive connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Post makes one attempt and records it. It always returns within the exchange
// timeout; what went wrong is part of the record.
func (s *Sender) Post(ctx context.Context, d Delivery) Attempt {
	a := Attempt{StartedAt: s.clock.Now(), URL: d.URL}
	if d.Unready != "" {
		a.ErrorClass, a.Error = Protocol, "the request could not be built: "+d.Unready
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.ExchangeTimeout)
	defer cancel()
	trace := newTrace()
	request, err := s.request(trace.attach(ctx), d, a.StartedAt)
	if err != nil {
		a.ErrorClass, a.Error = Protocol, "the request could not be built: "+err.Error()
		return a
	}
	a.RequestHeaders = shown(request.Header, d.Headers)
	response, err := s.once(request, trace)
	if err == nil {
		err = s.read(response, &a, d.Headers)
	}
	a.Timing = trace.timing()
	if err != nil {
		a.ErrorClass, a.Error = classify(err, s.config, trace.shaking.Load())
	} else {
		a.ErrorClass, a.Error = judgeStatus(response)
	}
	return a
}

func (s *Sender) request(ctx context.Context, d Delivery, at time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, err
	}
	signature, err := Sign(d.Secret, d.EventID, at, d.Body)
	if err != nil {
		return nil, err
	}
	for _, secret := range d.Earlier {
		also, err := Sign(secret, d.EventID, at, d.Body)
		if err != nil {
			return nil, err
		}
		signature += " " + also
	}
	h := request.Header
	for name, value := range d.Headers {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", s.config.UserAgent)
	}
	h.Set(HeaderID, d.EventID.String())
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, signature)
	h.Set(HeaderEventType, string(d.EventType))
	if d.Test {
		h.Set(HeaderTest, "true")
	}
	if trace := core.TraceOf(ctx); trace != "" {
		h.Set(HeaderTrace, string(trace))
	}
	return request, nil
}

// once has a request made once: of itself the transport repeats it on as many kept
// connections as die of it. Where such a connection was closed before anything was
// answered, as endpoints do with those that idle, the request is made a second time, on
// a connection of its own; the receiver knows it by its webhook-id, or by its call.
func (s *Sender) once(request *http.Request, t *trace) (*http.Response, error) {
	body := request.GetBody
	request.GetBody = nil // without it the transport repeats nothing that has a body
	if request.Body == http.NoBody {
		return s.anew.Do(request) // and nothing at all over a new connection
	}
	response, err := s.client.Do(request)
	if err == nil || !t.kept.Load() || t.first.Load() != 0 {
		return response, err
	}
	if _, words := classify(err, s.config, false); words != hungUp {
		return nil, err
	}
	again := request.WithContext(request.Context())
	if again.Body, err = body(); err != nil {
		return nil, err
	}
	return s.anew.Do(again)
}

// read takes the bounded part of the response, with the secrets that were sent
// masked. A body that is longer than the limit is left unread: the connection is
// closed, the status counts.
func (s *Sender) read(response *http.Response, a *Attempt, secret map[string]string) error {
	defer response.Body.Close()
	hidden := newMasker(secret)
	a.Status = response.StatusCode
	a.ResponseHeaders = make(map[string]string, len(response.Header))
	for name, values := range response.Header {
		a.ResponseHeaders[name] = clip(hidden.in(values[0]), 1024)
	}
	keep := s.config.KeepLimit + hidden.longest() // a secret must not lie across the end of what is kept
	kept := make([]byte, 0, 512)
	defer func() {
		kept = []byte(hidden.in(string(kept)))
		a.ResponseBody = kept[:min(len(kept), s.config.KeepLimit)]
	}()
	buffer := make([]byte, 4<<10)
	for total := int64(0); total < s.config.ReadLimit; {
		n, err := response.Body.Read(buffer)
		total += int64(n)
		if room := keep - len(kept); room > 0 {
			kept = append(kept, buffer[:min(n, room)]...)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
