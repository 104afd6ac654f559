package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestCallbackCreatePrintsAKeyOnce(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	created := servery(t, env, "business", "create", "--name", "N", "--country", "US", "--timezone", "UTC",
		"--currency",
		"USD", "--json")
	require.Equal(t, 0, created.status, created.stderr)
	keys := map[string]bool{}
	for range 2 {
		result := servery(t, env, "callback", "create", "--business", "1", "--platform", "web", "--json")
		require.Equal(t, 0, result.status, result.stderr)
		var printed struct {
			Platform string `json:"platform"`
			Key      string `json:"callback_key"`
		}
		require.NoError(t, json.Unmarshal([]byte(result.stdout), &printed))
		require.Equal(t, "web", printed.Platform)
		require.Regexp(t, `^svc_[A-Za-z0-9_-]{43}$`, printed.Key)
		keys[printed.Key] = true
	}
	require.Len(t, keys, 2, "each is another, and both work")
	unknown := servery(t, env, "callback", "create", "--business", "1", "--platform", "mars")
	require.Equal(t, 1, unknown.status)
	require.Contains(t, unknown.stderr, `no platform "mars"`)
}
