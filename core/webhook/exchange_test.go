package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestRecordedExchangeMasksSecrets(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
	}))
	defer server.Close()
	clock := core.NewSystemClock(nil)
	open := NewSender(SenderConfig{KeepLimit: 8 << 10}, NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}),
		clock)
	defer open.Close()
	a := open.Exchange(context.Background(), Request{Method: "PUT", URL: server.URL + "/a?b=c",
		Headers: map[string]string{"X-Plain": "p"}, Secrets: map[string]string{"x-key": "s3cret"},
		Body: []byte(`{"n":1}`)})
	require.Equal(t, []any{"PUT", "/a?b=c", "p", "s3cret", `{"n":1}`},
		[]any{got.Method, got.URL.String(), got.Header.Get("X-Plain"), got.Header.Get("X-Key"), string(body)})
	require.Equal(t, []any{http.StatusTeapot, ErrorClass(""), 8 << 10},
		[]any{a.Status, a.ErrorClass, len(a.ResponseBody)}, "every status is a response")
	require.Equal(t, []string{"p", Masked}, []string{a.RequestHeaders["X-Plain"], a.RequestHeaders["X-Key"]})
	require.Positive(t, a.Timing.Total)

	shut := NewSender(SenderConfig{}, NewGuard(nil), clock)
	defer shut.Close()
	refused := shut.Exchange(context.Background(), Request{Method: "POST", URL: server.URL})
	require.Equal(t, AddressRefused, refused.ErrorClass)
	invalid := shut.Exchange(context.Background(), Request{Method: "BAD METHOD", URL: server.URL})
	require.Equal(t, Protocol, invalid.ErrorClass)
}
