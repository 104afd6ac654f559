package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestGuidesUseTheConfiguredBaseURL(t *testing.T) {
	hub := startHub(t, onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_BASE_URL", "https://hub.example.com/",
		"SERVERY_PLUGIN_DIR", openDir(t)))
	for _, page := range []string{"/docs/first-sync", "/docs/postman.json"} {
		response, err := http.Get(hub.URL + page)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "https://hub.example.com")
		require.NotContains(t, string(text), "https://hub.example.com//")
		require.NotContains(t, string(text), hub.URL)
	}
}

func TestVersionFlagAndCommandAgree(t *testing.T) {
	flag, command := servery(t, environment{}, "--version"), servery(t, environment{}, "version")
	require.Zero(t, flag.status, flag.stderr)
	require.Equal(t, command.stdout, flag.stdout)
	require.Regexp(t, `^servery \S`, flag.stdout)
}
