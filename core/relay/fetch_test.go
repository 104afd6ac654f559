package relay

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/clocktest"
)

func TestLinkIsOnlySentToAllowedHosts(t *testing.T) {
	access := Access{BaseURLs: map[string]string{"api": "https://api.example.com:8443/v1?region=1"}}
	for link, want := range map[string]string{
		"https://api.example.com/orders/1?a=b":     "https://api.example.com/orders/1?a=b&page=2",
		"https://eu.orders.example.com/1":          "https://eu.orders.example.com/1?page=2",
		"https://API.example.com:8443/1":           "https://API.example.com:8443/1?page=2",
		"https://eu.orders.example.com:443/1":      "https://eu.orders.example.com:443/1?page=2",
		"https://api.example.com:8444/1":           "",
		"https://api.example.com:80/1":             "",
		"http://api.example.com/orders/1":          "",
		"https://evil.example/orders/1":            "",
		"https://api.example.com.evil.example/1":   "",
		"https://api.example.com@evil.example/1":   "",
		"https://user:word@api.example.com/1":      "",
		"https://orders.example.com/1":             "",
		"https:///orders/1":                        "",
		"https:api.example.com/1":                  "",
		"ftp://api.example.com/1":                  "",
		"//api.example.com/1":                      "",
		"https://api.example.com\\@evil.example/1": "",
	} {
		sender := &scriptedSender{statuses: []int{200}}
		plan := Plan{Endpoint: "api", Hosts: []string{"api.example.com", "*.orders.example.com"}, Method: "GET",
			URL: link, Query: map[string]string{"page": "2"}}
		result := Dispatcher{Sender: sender, Clock: clocktest.New(), Log: slog.New(slog.DiscardHandler)}.Send(
			t.Context(), Call{Kind: InboundFetch, Since: time.Now()}, plan, access,
			func(context.Context, Response) (Outcome, error) { return Outcome{}, nil })
		if want == "" {
			require.Empty(t, sender.requests, link)
			require.NotEqual(t, Done, result.State, link)
			continue
		}
		require.Len(t, sender.requests, 1, link)
		require.Equal(t, want, sender.requests[0].URL)
	}
}
