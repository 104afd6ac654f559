package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// read reads from the hub, as a channel.
func (s *Scenario) read(ctx context.Context, path string, into any) error {
	status, message, _ := s.call(ctx, request{method: http.MethodGet, url: s.BaseURL + path, authorization: s.channel,
		into: into})
	if status != http.StatusOK {
		return errors.New(failureText("the hub at "+s.BaseURL+path, status, message))
	}
	return nil
}

// failureText describes a failed request: the response, or the lack of one.
func failureText(who string, status int, message string) string {
	if status == 0 {
		return message
	}
	return fmt.Sprintf("%s answered %d: %s", who, status, message)
}

// request is a request to the hub or to a simulator.
type request struct {
	name          string // that the report counts it under; "": it is not counted
	method, url   string
	authorization string
	body          any // nil: none
	into          any // nil: the response is ignored
}

// call sends a request, retries it when throttled, and counts it. It returns the time in milliseconds.
func (s *Scenario) call(ctx context.Context, r request) (status int, message string, took float64) {
	for range maxRetries {
		var wait time.Duration
		status, message, took, wait = s.callOnce(ctx, r)
		if status != http.StatusTooManyRequests || !pause(ctx, wait) {
			break
		}
	}
	if r.name != "" {
		s.Report.addCall(r.name, status, took)
		s.Report.addError(r.name, status, message)
	}
	return status, message, took
}

// callOnce also returns how long to wait before a retry.
func (s *Scenario) callOnce(ctx context.Context, r request) (status int, message string, took float64,
	wait time.Duration) {
	response, message, took, err := exchange(ctx, s.client, r)
	if err != nil {
		return 0, err.Error(), took, 0
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, message, took, time.Duration(max(1, min(seconds, 60))) * time.Second
}

// exchange sends a request and reads the response, which is nil if there is none. It returns the time in milliseconds.
func exchange(ctx context.Context, client *http.Client, r request) (response *http.Response, message string,
	took float64, err error) {
	var content io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, "", 0, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, content)
	if err != nil {
		return nil, "", 0, err
	}
	request.Header.Set("Authorization", r.authorization)
	request.Header.Set("Content-Type", "application/json")
	start := time.Now()
	response, err = client.Do(request)
	if err != nil {
		return nil, "", milliseconds(time.Since(start)), fmt.Errorf("no response from %s://%s: %w",
			request.URL.Scheme, request.URL.Host, errors.Unwrap(err))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	took = milliseconds(time.Since(start))
	var reply struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &reply) // a list has none
	if r.into != nil && response.StatusCode == http.StatusOK {
		err = errors.Join(err, json.Unmarshal(text, r.into))
	}
	if err != nil {
		err = fmt.Errorf("the response cannot be read: %w", err)
	}
	return response, reply.Message, took, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func toDuration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
