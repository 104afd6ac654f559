package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

// callback is a delivery that a callbackSink received.
type callback struct {
	At        time.Time
	Path      string
	Header    http.Header
	Body      []byte
	WebhookID string

	Reference string                                 `json:"reference"`
	Stats     struct{ Created, Updated, Errors int } `json:"stats"`
	Stores    []callbackStore                        `json:"stores"`
}

type callbackStore struct {
	RefID  string `json:"ref_id"`
	Name   string `json:"name"`
	Status struct {
		Action  string `json:"action"`
		ID      *int64 `json:"id"`
		Error   bool   `json:"error"`
		Message string `json:"err_msg"`
	} `json:"upipr_status"`
}

// callbackSink is an endpoint. It stores deliveries by the reference of their request, and returns 200 after a delay.
type callbackSink struct {
	url   string
	delay time.Duration

	mu          sync.Mutex
	byReference map[string][]callback
	unreadable  []string
}

func newCallbackSink(t *testing.T, delay time.Duration) *callbackSink {
	t.Helper()
	s := &callbackSink{delay: delay, byReference: map[string][]callback{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP stores a delivery.
func (s *callbackSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := callback{At: time.Now(), Path: r.URL.Path, Header: r.Header.Clone(), WebhookID: r.Header.Get("webhook-id")}
	var err error
	if got.Body, err = io.ReadAll(r.Body); err != nil {
		return // the hub was killed while sending
	}
	err = errors.Join(json.Unmarshal(got.Body, &got),
		eventtest.Validate(core.EventType(r.Header.Get("X-Event-Type")), got.Body))
	s.mu.Lock()
	if err != nil || got.Reference == "" {
		s.unreadable = append(s.unreadable, fmt.Sprintf("%v: %.200s", err, got.Body))
	} else {
		s.byReference[got.Reference] = append(s.byReference[got.Reference], got)
	}
	s.mu.Unlock()
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusOK)
}

// arrivals returns the deliveries so far, by reference.
func (s *callbackSink) arrivals(t *testing.T) map[string][]callback {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.unreadable)
	all := make(map[string][]callback, len(s.byReference))
	for reference, list := range s.byReference {
		all[reference] = append([]callback(nil), list...)
	}
	return all
}

// await waits for the callback of a request. It must arrive once, at the path, and be signed with the secret.
func (s *callbackSink) await(t *testing.T, reference, path, secret string) callback {
	t.Helper()
	var got []callback
	eventually(t, waitTimeout, func() error {
		if got = s.arrivals(t)[reference]; len(got) == 0 {
			return fmt.Errorf("no callback for %s", reference)
		}
		return nil
	})
	require.Len(t, got, 1)
	require.Equal(t, path, got[0].Path)
	require.Equal(t, "store_creation", got[0].Header.Get("X-Event-Type"))
	require.Equal(t, "application/json", got[0].Header.Get("Content-Type"))
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(got[0].Body, got[0].Header))
	require.Error(t, verifier.Verify(append([]byte(" "), got[0].Body...), got[0].Header))
	return got[0]
}
