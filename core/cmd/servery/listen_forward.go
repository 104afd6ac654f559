package main

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

// listenKeptAnswer bounds what is passed on of a forward's answer.
const listenKeptAnswer = 64 << 10

// listenForwarder posts deliveries on as they came, within a deadline.
type listenForwarder struct {
	url     string
	timeout time.Duration
	via     string // recognizes what comes back to us
	client  *http.Client
}

func newListenForwarder(address string, timeout time.Duration) *listenForwarder {
	return &listenForwarder{
		url: address, timeout: timeout, via: "1.1 servery-listen-" + rand.Text(),
		client: &http.Client{
			Transport: &http.Transport{
				DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// post posts a delivery on and returns the answer to pass on: 502 where there
// is none, 504 where it takes too long. The address is not part of any text: it
// may hold credentials.
func (f *listenForwarder) post(ctx context.Context, d listenDelivery) listenAnswer {
	if slices.Contains(d.header.Values("Via"), f.via) {
		return failedForward(http.StatusLoopDetected, "--forward leads back to this address")
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(d.body))
	if err != nil {
		return failedForward(http.StatusBadGateway, "the address of --forward cannot be used")
	}
	f.copyHeaders(request.Header, d.header)
	response, err := f.client.Do(request)
	if err != nil {
		return f.failed(err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 599 {
		return failedForward(http.StatusBadGateway, fmt.Sprintf("the address of --forward answered %d, which is no final status", response.StatusCode))
	}
	answer := listenAnswer{status: response.StatusCode, header: http.Header{}}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Location", "Retry-After"} {
		if values := response.Header.Values(name); len(values) > 0 {
			answer.header[name] = values
		}
	}
	if answer.body, err = io.ReadAll(io.LimitReader(response.Body, listenKeptAnswer)); err != nil {
		return f.failed(err)
	}
	answer.remark = fmt.Sprintf("forwarded, %d ms", time.Since(began).Milliseconds())
	return answer
}

// copyHeaders takes all headers over but those that belong to one connection
// (RFC 9110, section 7.6.1).
func (f *listenForwarder) copyHeaders(to, from http.Header) {
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
		to["User-Agent"] = []string{""} // none, not that of Go
	}
	to.Add("Via", f.via)
	to["Idempotency-Key"] = from["Idempotency-Key"] // a connection closed at the same moment is tried again
}

// failed says why there is no answer to pass on.
func (f *listenForwarder) failed(err error) listenAnswer {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failedForward(http.StatusGatewayTimeout, fmt.Sprintf("the address of --forward did not answer within %s", f.timeout))
	case errors.Is(err, context.Canceled):
		return failedForward(http.StatusBadGateway, "the client gave up before the address of --forward had answered")
	}
	return failedForward(http.StatusBadGateway, "forwarding failed: "+err.Error())
}

func failedForward(status int, reason string) listenAnswer {
	answer := toldAnswer(status)
	answer.body, answer.remark = []byte(`{"status":"error","message":"servery listen could not forward the delivery"}`+"\n"), reason
	return answer
}
