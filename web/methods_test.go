package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// recordingObserver records the methods that reach the metrics.
type recordingObserver struct {
	noopObserver
	methods []string
}

func (r *recordingObserver) RequestHandled(_, method string, _ int, _ time.Duration) {
	r.methods = append(r.methods, method)
}

func newSystemServer(observer Observer) *Server {
	return New(Config{SystemOnly: true, MaxBody: 1 << 20, Observer: observer, Clock: core.NewSystemClock(nil),
		Log: slog.New(slog.DiscardHandler), Ready: func(context.Context) error { return nil }})
}

func respondTo(t *testing.T, s *Server, method, path string) (*http.Response, string) {
	t.Helper()
	response, err := s.App.Test(httptest.NewRequest(method, path, nil), -1)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

func TestUnknownMethodsGetAnEnvelope(t *testing.T) {
	observer := &recordingObserver{}
	s := newSystemServer(observer)
	for _, method := range []string{"PROPFIND", "post", "get", "_OTHER", http.MethodDelete} {
		for path, status := range map[string]int{"/openapi.json": 405, "/nowhere/": 404} {
			response, text := respondTo(t, s, method, path)
			require.Equal(t, status, response.StatusCode, "%s %s: %s", method, path, text)
			require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))
			var body envelope
			require.NoError(t, json.Unmarshal([]byte(text), &body), text)
			require.Equal(t, "error", body.Status)
			if status == 405 {
				require.Equal(t, "GET, HEAD", response.Header.Get("Allow"))
			}
		}
	}
	slices.Sort(observer.methods)
	require.Equal(t, []string{"DELETE", otherMethod}, slices.Compact(observer.methods),
		"clients cannot add metrics")
}

func TestSystemRoutesAnswerHead(t *testing.T) {
	s := newSystemServer(noopObserver{})
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		response, text := respondTo(t, s, http.MethodHead, path)
		require.Equal(t, 200, response.StatusCode, path)
		require.Empty(t, text)
		_, text = respondTo(t, s, http.MethodGet, path)
		require.EqualValues(t, len(text), response.ContentLength, path)
	}
}

func TestProbePathsMayEndInASlash(t *testing.T) {
	observer := &recordingObserver{}
	s := newSystemServer(observer)
	s.Drain()
	for path, status := range map[string]int{"/healthz": 200, "/healthz/": 200, "/readyz/": 503} {
		response, text := respondTo(t, s, http.MethodGet, path)
		require.Equal(t, status, response.StatusCode, "%s: %s", path, text)
	}
	require.Empty(t, observer.methods)
}
