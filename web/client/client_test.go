package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/web/client"
)

func TestWaitIsRoundedUpToWholeSeconds(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.URL.Query().Get("wait")
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	c := client.New(server.URL, "pos", "key", nil)
	for wait, expected := range map[time.Duration]string{0: "", time.Nanosecond: "1", 2 * time.Second: "2",
		14500 * time.Millisecond: "15"} {
		_, err := c.PostStores(client.WithWait(t.Context(), wait), client.StoresRequest{})
		require.NoError(t, err)
		require.Equal(t, expected, sent)
	}
}

func TestTextOfZeroOrFalseIsSent(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.URL.RawQuery
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	c := client.New(server.URL, "pos", "key", nil)
	for query, expected := range map[client.ListOrdersQuery]string{
		{After: "0"}:                                  "after=0",
		{StoreRefID: "false", Limit: 5}:               "limit=5&store_ref_id=false",
		{OrderRefID: "0", Escalated: true, From: 100}: "escalated=true&from=100&order_ref_id=0",
		{}: "",
	} {
		_, err := c.ListOrders(t.Context(), query)
		require.NoError(t, err)
		require.Equal(t, expected, sent)
	}
	_, err := c.ListStores(t.Context(), client.ListStoresQuery{After: "0"})
	require.NoError(t, err)
	require.Equal(t, "after=0", sent)
}
