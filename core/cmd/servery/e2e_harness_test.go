package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const waitTimeout = 60 * time.Second

type environment = hubtest.Environment

// onDatabase returns the environment of hubs that share a database, with short leases.
func onDatabase(url string) environment {
	return hubtest.HubEnvironment(url, "STORES", "WEBHOOKS", "READ").
		With("SERVERY_DELIVERY_LEASE", "10s", "SERVERY_JOB_LEASE", "2s")
}

// withLongLeases changes the leases for a test that crashes nothing: a stall of the machine ends none.
func withLongLeases(env environment) environment {
	return env.With("SERVERY_DELIVERY_LEASE", "2m", "SERVERY_JOB_LEASE", "1m")
}

// startHub starts a hub and waits until it is ready.
func startHub(t *testing.T, env environment, flags ...string) *hubtest.Hub {
	t.Helper()
	return hubtest.StartHub(t, builtBinary(t), env, flags...)
}

// eventually waits until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	require.NoError(t, hubtest.Await(within, check), "what was waited for did not happen within %v", within)
}

// commandResult is the result of a command.
type commandResult struct {
	status         int
	stdout, stderr string
}

// servery runs a command of the program.
func servery(t *testing.T, env environment, args ...string) (result commandResult) {
	t.Helper()
	result.status, result.stdout, result.stderr = hubtest.Run(t, builtBinary(t), env, args...)
	return result
}

// serveryJSON runs a command that must succeed and decodes its output.
func serveryJSON(t *testing.T, env environment, into any, args ...string) {
	t.Helper()
	hubtest.RunJSON(t, builtBinary(t), env, into, args...)
}

// apiClient is a business with an API key.
type apiClient struct {
	business       int64
	callbackSecret string
	keyID          int64
	authorization  string
}

func newAPIClient(t *testing.T, env environment) apiClient {
	t.Helper()
	return newAPIClientIn(t, env, "US")
}

func newAPIClientIn(t *testing.T, env environment, country string) apiClient {
	t.Helper()
	var created struct {
		ID             int64  `json:"id"`
		CallbackSecret string `json:"callback_secret"`
	}
	serveryJSON(t, env, &created, "business", "create", "--name", "Test Kitchen", "--country", country,
		"--timezone", "America/New_York", "--currency", "USD")
	require.Positive(t, created.ID)
	who := newKey(t, env, created.ID, "pos")
	who.callbackSecret = created.CallbackSecret
	return who
}

func newKey(t *testing.T, env environment, business int64, scope string) apiClient {
	t.Helper()
	var key struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
		APIKey   string `json:"api_key"`
	}
	serveryJSON(t, env, &key, "key", "create", "--business", strconv.FormatInt(business, 10), "--username", "till",
		"--scope", scope)
	require.Equal(t, "till", key.Username)
	require.NotEmpty(t, key.APIKey)
	return apiClient{business: business, keyID: key.ID, authorization: "apikey till:" + key.APIKey}
}

const (
	storesPath   = "/external/api/v1/stores/"
	webhooksPath = "/external/api/v1/webhooks/"
)

// subscribe creates a webhook for store callbacks and returns its id and signing secret.
func subscribe(t *testing.T, hub string, who apiClient, url string) (int64, string) {
	t.Helper()
	response := hubtest.Call(t, "POST", hub+webhooksPath, who.authorization,
		map[string]any{"event_type": "store_creation", "url": url, "retrial_interval_units": "seconds"})
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
	created := response.Object(t)
	return int64(created["webhook_id"].(float64)), created["secret"].(string)
}
