// Package client calls a hub from Go. Types and calls are generated from the
// description of the interface, by web/client/generate; each call is named after its
// operation there.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls one hub with one API key. It may be used by many goroutines.
type Client struct {
	base, authorization string
	http                *http.Client
}

// New makes a client of the hub at an address such as https://hub.example.com.
// hc is nil for one that waits 30 s for each answer.
func New(base, username, apiKey string, hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{Timeout: 30 * time.Second}
	}
	return &Client{strings.TrimSuffix(base, "/"), "apikey " + username + ":" + apiKey, hc}
}

// APIError is an answer other than 200.
type APIError struct {
	Status     int           // of HTTP
	Message    string        // what is wrong, for people
	Errors     []Problem     // of a request that is wrong in several places
	RequestID  string        // by which the hub's log names the request
	RetryAfter time.Duration // how long to wait before asking again; 0 where the hub does not say
}

// Problem is one place of a request that is wrong.
type Problem struct {
	Path    string `json:"path"` // such as stores[0].geo_latitude
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is what the hub says.
func (r *APIError) Error() string { return fmt.Sprintf("the hub answered %d: %s", r.Status, r.Message) }

// do sends a request and reads the answer; a nil body is none.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", c.authorization)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return newAPIError(response, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	return nil
}

func newAPIError(response *http.Response, answer []byte) error {
	r := &APIError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	var said struct {
		Message string    `json:"message"`
		Errors  []Problem `json:"errors"`
	}
	if json.Unmarshal(answer, &said) != nil || said.Message == "" {
		said.Message = http.StatusText(response.StatusCode) // not from the hub
	}
	r.Message, r.Errors = said.Message, said.Errors
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return r
}

// waitKey is the key of the wait in a context.
type waitKey struct{}

// WithWait returns a context for calls that queue a job, such as PostStores. Their answer is held until the job has
// ended, for at most so long: whole seconds, up to 15. It then has State, Result and WaitOutcome.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// putWait adds the wait of a context.
func putWait(ctx context.Context, query url.Values) {
	if wait, asked := ctx.Value(waitKey{}).(time.Duration); asked {
		put(query, "wait", int64(wait/time.Second))
	}
}

// put adds a parameter that is not zero.
func put(query url.Values, name string, value any) {
	if text := fmt.Sprint(value); text != "" && text != "0" && text != "false" {
		query.Set(name, text)
	}
}
