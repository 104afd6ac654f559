// Package client is the Go client of the hub's API. web/client/generate generates its types and methods from the
// OpenAPI document. Each method has the name of its operation.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls one hub with one API key. It is safe for concurrent use.
type Client struct {
	base, authorization string
	http                *http.Client
}

// New returns a client for a base URL such as https://hub.example.com. A nil hc means a client with a timeout of 30 s.
func New(base, username, apiKey string, httpClient *http.Client) *Client {
	if httpClient == nil {
		httpClient = &http.Client{Timeout: 30 * time.Second}
	}
	return &Client{strings.TrimSuffix(base, "/"), "apikey " + username + ":" + apiKey, httpClient}
}

// APIError is a response with a status other than 200.
type APIError struct {
	Status     int           // the HTTP status
	Message    string        // describes the error for people
	Errors     []Problem     // the invalid fields of a request
	RequestID  string        // the id of the request in the hub's log
	RetryAfter time.Duration // the minimum pause before a retry; 0 if unknown
}

// Problem is one invalid field of a request.
type Problem struct {
	Path    string `json:"path"` // the path of the field, such as stores[0].geo_latitude
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the status and the message.
func (r *APIError) Error() string { return fmt.Sprintf("the hub answered %d: %s", r.Status, r.Message) }

// call is a request. A nil body is not sent.
type call struct {
	method, path string
	query        url.Values
	body         any
}

// do sends a request and decodes the response.
func (c *Client) do(ctx context.Context, r call, into any) error {
	var content io.Reader
	if r.body != nil {
		encoded, err := json.Marshal(r.body)
		if err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	path := r.path
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, c.base+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", c.authorization)
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return newAPIError(response, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	return nil
}

func newAPIError(response *http.Response, content []byte) error {
	r := &APIError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	var reply struct {
		Message string    `json:"message"`
		Errors  []Problem `json:"errors"`
	}
	if json.Unmarshal(content, &reply) != nil || reply.Message == "" {
		reply.Message = http.StatusText(response.StatusCode) // not a response of the hub
	}
	r.Message, r.Errors = reply.Message, reply.Errors
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return r
}

// waitKey is the context key of the wait.
type waitKey struct{}

// WithWait returns a context for calls that queue a job, such as PostStores. Their response waits until the job has
// ended, for at most the given time: up to 15 s, rounded up to whole seconds. It then has State, Result and
// WaitOutcome.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// putWait adds the wait of a context to a query.
func putWait(ctx context.Context, query url.Values) {
	if wait, ok := ctx.Value(waitKey{}).(time.Duration); ok {
		put(query, "wait", int64(math.Ceil(wait.Seconds())))
	}
}

// put adds a parameter, unless it has the zero value of its type.
func put[T comparable](query url.Values, name string, value T) {
	var zero T
	if value != zero {
		query.Set(name, fmt.Sprint(value))
	}
}
