package sandbox

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/simulator"
)

func TestFaultErrorsSayWhatTheSimulatorLacks(t *testing.T) {
	for _, c := range []struct {
		status      int
		body, error string
	}{
		{200, `[{"kind":"status"}]`, ""},
		{200, "<html>", "the server at URL is not a simulator: 200"},
		{400, `{"message":"no such kind"}`, "no such kind"},
		{401, "", "the simulator at URL requires its token: set SERVERY_SIMULATOR_TOKEN"},
		{404, "not found", "the server at URL is not a simulator: 404"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "Bearer token", r.Header.Get("Authorization"))
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		var faults []simulator.Fault
		requireFaultError(t, server.URL, c.error, &faults)
		require.Len(t, faults, map[string]int{"": 1}[c.error])
		server.Close()
		requireFaultError(t, server.URL,
			"the simulator at URL does not respond: start one with servery simulator", &faults)
	}
}

func requireFaultError(t *testing.T, base, says string, into *[]simulator.Fault) {
	t.Helper()
	err := NewFaultClient(nil, "token").call(t.Context(), base, request{method: http.MethodGet, url: "/", into: into})
	if says == "" {
		require.NoError(t, err)
		return
	}
	require.EqualError(t, err, strings.ReplaceAll(says, "URL", base))
}
