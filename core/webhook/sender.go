package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/servery-hub/servery/core"
)

// SenderConfig bounds an exchange with an endpoint. Zero values take the defaults.
type SenderConfig struct {
	ConnectTimeout  time.Duration // 3 s
	ExchangeTimeout time.Duration // 5 s, from DNS lookup to the last byte read
	ReadLimit       int64         // 64 KiB of the response are read
	KeepLimit       int           // 4 KiB of them are stored
	TLS             *tls.Config   // for tests with their own certificate authority
	UserAgent       string

	// When HTTP/2 pings a silent connection, and how long it waits for the response. Only tests set them.
	pingAfter, pingTimeout time.Duration // 2/5 and 1/5 of ExchangeTimeout
}

func (c SenderConfig) withDefaults() SenderConfig {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 3*time.Second)
	c.ExchangeTimeout = cmp.Or(c.ExchangeTimeout, 5*time.Second)
	c.ReadLimit = cmp.Or(c.ReadLimit, 64<<10)
	c.KeepLimit = cmp.Or(c.KeepLimit, 4<<10)
	c.UserAgent = cmp.Or(c.UserAgent, "Servery")
	c.pingAfter = cmp.Or(c.pingAfter, c.ExchangeTimeout*2/5)
	c.pingTimeout = cmp.Or(c.pingTimeout, c.ExchangeTimeout/5)
	return c
}

// Sender posts deliveries. It keeps connections alive, uses HTTP/2 if the endpoint supports it, follows no redirect
// and uses no proxy. It connects only to addresses that the guard allows.
type Sender struct {
	config    SenderConfig
	plain     clientPair // without a client certificate
	clock     core.Clock
	certified certifiedClients
}

// NewSender returns a Sender.
func NewSender(config SenderConfig, guard *Guard, clock core.Clock) *Sender {
	config = config.withDefaults()
	dialer := &net.Dialer{Timeout: config.ConnectTimeout, Control: guard.control}
	keepAlive := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        config.TLS,
		TLSHandshakeTimeout:    config.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a compression bomb would bypass the read limit
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		WriteBufferSize:        8 << 10, // headers and body of an order in one write
		// Detects a dead HTTP/2 connection before it fails later exchanges: an exchange that times out leaves its
		// connection in use.
		HTTP2: &http.HTTP2Config{SendPingTimeout: config.pingAfter, PingTimeout: config.pingTimeout},
	}
	return &Sender{config: config, clock: clock, plain: newClientPair(keepAlive),
		certified: certifiedClients{base: keepAlive, byDigest: map[[32]byte]*certifiedPair{}}}
}

// clientPair sends requests on kept-alive connections, and retries on new ones.
type clientPair struct {
	client      *http.Client
	noKeepAlive *http.Client // opens a connection for every request
}

func newClientPair(keepAlive *http.Transport) clientPair {
	noKeepAlive := keepAlive.Clone()
	noKeepAlive.DisableKeepAlives = true
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return clientPair{client: &http.Client{Transport: keepAlive, CheckRedirect: noRedirect},
		noKeepAlive: &http.Client{Transport: noKeepAlive, CheckRedirect: noRedirect}}
}

// Close closes the idle connections.
func (s *Sender) Close() {
	s.plain.client.CloseIdleConnections()
	s.certified.close()
}

// Post makes one attempt and returns its record, which includes any error. It always returns within the exchange
// timeout.
func (s *Sender) Post(ctx context.Context, d Delivery) Attempt {
	a := Attempt{StartedAt: s.clock.Now(), URL: d.URL}
	if d.BuildError != "" {
		a.ErrorClass, a.Error = Protocol, "building the request failed: "+d.BuildError
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.ExchangeTimeout)
	defer cancel()
	trace := newTrace()
	request, err := s.request(trace.attach(ctx), d, a.StartedAt)
	if err != nil {
		a.ErrorClass, a.Error = Protocol, "building the request failed: "+err.Error()
		return a
	}
	a.RequestHeaders = recordedHeaders(request.Header, d.Headers)
	response, err := s.plain.do(request, trace, s.config)
	if err == nil {
		err = s.read(response, &a, d.Headers)
	}
	a.Timing, a.SentTwice = trace.timing(), trace.sentTwice
	if err != nil {
		a.ErrorClass, a.Error = classify(err, s.config, trace.handshaking.Load())
	} else {
		a.ErrorClass, a.Error = classifyStatus(response)
	}
	return a
}

// contentType is the Content-Type of every delivery.
const contentType = "application/json"

func (s *Sender) request(ctx context.Context, d Delivery, at time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, err
	}
	signature, err := Sign(d.Secret, d.EventID, at, d.Body)
	if err != nil {
		return nil, err
	}
	for _, secret := range d.OldSecrets {
		next, err := Sign(secret, d.EventID, at, d.Body)
		if err != nil {
			return nil, err
		}
		signature += " " + next
	}
	h := request.Header
	for name, value := range d.Headers {
		h.Set(name, value)
	}
	if value := d.EventHeader.ValueFor(d.EventType); d.EventHeader.Name != "" && value != "" {
		h.Set(d.EventHeader.Name, value)
	}
	h.Set("Content-Type", contentType)
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", s.config.UserAgent)
	}
	h.Set(HeaderID, d.EventID.String())
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, signature)
	h.Set(HeaderEventType, string(d.EventType))
	if number := d.EventType.Number(); number != 0 {
		h.Set(HeaderEventTypeID, strconv.Itoa(number))
	}
	if d.Test {
		h.Set(HeaderTest, "true")
	}
	if trace := core.TraceFromContext(ctx); trace != "" {
		h.Set(HeaderTrace, string(trace))
	}
	return request, nil
}

// do sends the request, retrying once if the endpoint closed a stale keep-alive connection before it responded. The
// transport alone would retry on every stale connection. The retry uses a new connection. The receiver recognises it
// by its webhook-id, or by its call id.
func (s clientPair) do(request *http.Request, t *trace, config SenderConfig) (*http.Response, error) {
	body := request.GetBody
	request.GetBody = nil // without GetBody the transport never retries a request with a body
	if request.Body == http.NoBody {
		return s.noKeepAlive.Do(request) // nor any request on a new connection
	}
	response, err := s.client.Do(request)
	if err == nil || !t.reused.Load() || t.first.Load() != 0 {
		return response, err
	}
	if _, words := classify(err, config, false); words != connectionClosed {
		return nil, err
	}
	retry := request.WithContext(request.Context())
	if retry.Body, err = body(); err != nil {
		return nil, err
	}
	t.sentTwice = true
	return s.noKeepAlive.Do(retry)
}

// read reads the bounded part of the response and masks the secrets that were sent. If the body is longer than the
// limit, the connection is closed and the status counts.
func (s *Sender) read(response *http.Response, a *Attempt, secret map[string]string) error {
	defer response.Body.Close()
	a.Status = response.StatusCode
	var body responseBody
	var err error
	if response.StatusCode != http.StatusSwitchingProtocols {
		body, err = s.readBody(response)
	} // else its body is the connection, and a read of it does not end with the context
	if a.keepRaw {
		a.Raw = slices.Clone(body.kept[:min(len(body.kept), s.config.KeepLimit)])
	}
	secrets := headerMasker(secret) // only now, because many attempts may wait for slow bodies
	a.ResponseHeaders = maskedHeaders(response.Header, secrets)
	if body.kept != nil {
		text := []byte(secrets.apply(string(body.kept), !body.whole))
		a.ResponseBody = text[:min(len(text), s.config.KeepLimit)]
	}
	return err
}

// maskMargin is how many bytes after the kept part of a text are searched for secrets. It is at least shortestSecret,
// because a secret may start at the end of the kept part.
const maskMargin = 256

// responseBody is the start of the body of a response.
type responseBody struct {
	kept  []byte
	whole bool // there is no more
}

func (s *Sender) readBody(response *http.Response) (body responseBody, err error) {
	keep := s.config.KeepLimit + maskMargin
	body.kept = make([]byte, 0, 512)
	buffer := make([]byte, 4<<10)
	if n := response.ContentLength; n >= 0 && n < int64(len(buffer)) {
		buffer = make([]byte, n+1) // one more, to read the end as well
	}
	for total := int64(0); total < s.config.ReadLimit; {
		n, err := response.Body.Read(buffer)
		total += int64(n)
		if free := keep - len(body.kept); free > 0 {
			body.kept = append(body.kept, buffer[:min(n, free)]...)
		}
		if err == io.EOF {
			body.whole = total <= int64(keep)
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

// Bounds in bytes of the headers of a response that are kept, because they are recorded with every attempt.
const (
	maxHeaders   = 8 << 10 // of all
	longestValue = 1 << 10
)

// maskedHeaders returns the headers of a response for the record.
func maskedHeaders(h http.Header, secrets Masker) map[string]string {
	kept := make(map[string]string, len(h))
	for name, values := range h {
		kept[name] = values[0][:min(len(values[0]), longestValue+maskMargin)]
	}
	dropLongest(kept, 2*maxHeaders) // bounds what is searched
	secrets.applyTo(kept, func(name string) bool { return len(kept[name]) < len(h[name][0]) })
	for name, value := range kept {
		kept[name] = clip(value, longestValue)
	}
	dropLongest(kept, maxHeaders)
	return kept
}

// dropLongest removes the longest headers until the rest has at most limit bytes.
func dropLongest(headers map[string]string, limit int) {
	size := func(name string) int { return len(name) + len(headers[name]) }
	total := 0
	for name := range headers {
		total += size(name)
	}
	if total <= limit {
		return
	}
	names := slices.SortedFunc(maps.Keys(headers), func(a, b string) int {
		return cmp.Or(size(b)-size(a), strings.Compare(a, b))
	})
	for _, name := range names {
		if total <= limit {
			return
		}
		total -= size(name)
		delete(headers, name)
	}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for least := max(n-utf8.UTFMax, 0); n > least && !utf8.RuneStart(s[n]); { // within a character
		n--
	}
	return s[:n] + "…"
}
