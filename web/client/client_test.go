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
