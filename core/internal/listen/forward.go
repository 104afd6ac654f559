package listen

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxForwardedResponse bounds the forwarded part of a response.
const maxForwardedResponse = 64 << 10

// forwarder forwards deliveries unchanged, within a deadline.
type forwarder struct {
	url     string
	timeout time.Duration
	via     string // detects a forwarding loop
	client  *http.Client
}

func newForwarder(address string, timeout time.Duration) *forwarder {
	return &forwarder{
		url: address, timeout: timeout, via: "1.1 servery-listen-" + rand.Text(),
		client: &http.Client{
			Transport: &http.Transport{
				DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
				MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// post forwards a delivery and returns the response to pass on: 502 if there is none, 504 after a timeout. No message
// contains the URL, because it may contain credentials.
func (f *forwarder) post(ctx context.Context, d delivery) response {
	if slices.Contains(d.header.Values("Via"), f.via) {
		return failedForward(http.StatusLoopDetected, "--forward leads back to this receiver")
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(d.body))
	if err != nil {
		return failedForward(http.StatusBadGateway, "the URL of --forward cannot be used")
	}
	f.copyHeaders(request.Header, d.header)
	upstream, err := f.client.Do(request)
	if err != nil {
		return f.failed(err)
	}
	defer upstream.Body.Close()
	if upstream.StatusCode < 200 || upstream.StatusCode > 599 {
		return failedForward(http.StatusBadGateway,
			fmt.Sprintf("the URL of --forward returned %d, which is not a final status", upstream.StatusCode))
	}
	resp := response{status: upstream.StatusCode, header: http.Header{}}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Location", "Retry-After"} {
		if values := upstream.Header.Values(name); len(values) > 0 {
			resp.header[name] = values
		}
	}
	if resp.body, err = io.ReadAll(io.LimitReader(upstream.Body, maxForwardedResponse)); err != nil {
		return f.failed(err)
	}
	resp.remark = fmt.Sprintf("forwarded, %d ms", time.Since(start).Milliseconds())
	return resp
}

// copyHeaders copies all headers except those that apply to a single connection (RFC 9110, section 7.6.1).
func (f *forwarder) copyHeaders(to, from http.Header) {
	leave := []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Content-Length", "Proxy-Authorization", "Proxy-Authenticate",
	}
	for _, line := range from.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			leave = append(leave, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for name, values := range from {
		if !slices.Contains(leave, name) {
			to[name] = slices.Clone(values)
		}
	}
	if to.Get("User-Agent") == "" {
		to["User-Agent"] = []string{""} // none, rather than Go's default
	}
	to.Add("Via", f.via)
	to["Idempotency-Key"] = from["Idempotency-Key"] // lets the transport retry on a stale connection
}

// failed describes why there is no response to pass on.
func (f *forwarder) failed(err error) response {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failedForward(http.StatusGatewayTimeout,
			fmt.Sprintf("the URL of --forward did not respond within %s", f.timeout))
	case errors.Is(err, context.Canceled):
		return failedForward(http.StatusBadGateway,
			"the client closed the connection before the URL of --forward responded")
	}
	return failedForward(http.StatusBadGateway, "forwarding failed: "+err.Error())
}

func failedForward(status int, reason string) response {
	resp := ownResponse(status)
	resp.body, resp.remark = []byte(`{"status":"error","message":"servery listen could not forward the delivery"}`+
		"\n"), reason
	return resp
}
