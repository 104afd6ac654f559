package hub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// guardedAggregator is an aggregator with a token endpoint. It accepts the latest token only.
type guardedAggregator struct {
	*httptest.Server
	clock core.Clock

	mu      sync.Mutex
	tokens  []url.Values // token requests
	calls   []guardedCall
	refuse  bool   // it rejects the client
	token   string // the accepted one; "": none
	refresh string // the accepted refresh token; "": any
}

type guardedCall struct {
	at      time.Time
	uri     string
	status  int
	headers http.Header
	body    string
}

func newGuardedAggregator(t *testing.T, clock core.Clock) *guardedAggregator {
	t.Helper()
	g := &guardedAggregator{clock: clock}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *guardedAggregator) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.URL.Path == "/oauth/token" {
		g.grant(w, r, string(body))
		return
	}
	status := http.StatusOK
	if g.token != "" && r.Header.Get("Authorization") != "Bearer "+g.token {
		status = http.StatusUnauthorized
	}
	g.calls = append(g.calls, guardedCall{g.clock.Now(), r.URL.RequestURI(), status, r.Header, string(body)})
	w.WriteHeader(status)
}

func (g *guardedAggregator) grant(w http.ResponseWriter, r *http.Request, body string) {
	form, _ := url.ParseQuery(body)
	if _, secret, ok := r.BasicAuth(); ok {
		form.Set("basic", secret)
	}
	g.tokens = append(g.tokens, form)
	renewal := form.Get("grant_type") == "refresh_token"
	if g.refuse || renewal && g.refresh != "" && form.Get("refresh_token") != g.refresh {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"not `+form.Get("basic")+`"}`)
		return
	}
	g.token = fmt.Sprintf("granted-token-%d", len(g.tokens))
	response := map[string]any{"access_token": g.token, "token_type": "Bearer", "expires_in": 600}
	if renewal || form.Get("grant_type") == "authorization_code" && form.Get("code") != "code-without-refresh" {
		g.refresh = fmt.Sprintf("granted-refresh-%d", len(g.tokens))
		response["refresh_token"] = g.refresh
	}
	_ = json.NewEncoder(w).Encode(response)
}

// change changes the aggregator's behaviour.
func (g *guardedAggregator) change(set func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	set()
}

// seen returns the token requests and the calls so far.
func (g *guardedAggregator) seen() (tokens []url.Values, calls []guardedCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(tokens, g.tokens...), append(calls, g.calls...)
}

// succeeded returns the number of accepted calls.
func (g *guardedAggregator) succeeded() (n int) {
	_, calls := g.seen()
	for _, call := range calls {
		if call.status == http.StatusOK {
			n++
		}
	}
	return n
}

// credentialClient is a business with a platform of the plugin credentialed.
type credentialClient struct {
	*orderClient
	aggregator *guardedAggregator
	secrets    map[string]string
}

func newCredentialClient(t *testing.T, settings string) *credentialClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "credentialed", "./testdata/credentialed")
	a := newPluginAPI(t, dir, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	c := &credentialClient{orderClient: newOrderClientAt(newMenuClientAt(t, a)),
		aggregator: newGuardedAggregator(t, a.clock), secrets: map[string]string{"client_id": "the-client",
			"client_secret": "secret-of-the-client", "refresh_token": "first-refresh-token",
			"signing_key": "key-of-signatures"}}
	c.set(settings)
	return c
}

// set changes the settings of the platform, with the current secrets.
func (c *credentialClient) set(settings string) {
	c.t.Helper()
	require.NoError(c.t, platforms.New(c.hub.db).Set(c.t.Context(), c.tenant.ID,
		core.Platform{Name: "tasty", ServedBy: "credentialed"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": c.aggregator.URL, "slow": c.aggregator.URL,
				"per_order": c.aggregator.URL}
			a.Secrets, a.Settings = c.secrets, []byte(settings)
			return nil
		}))
}

// order places an order on the platform.
func (c *credentialClient) order(id string) int64 {
	c.t.Helper()
	taken := c.sendAsChannel("POST", channelOrdersRoute,
		strings.Replace(orderOf(id, `,"delivery_type":"self"`), `"web"`, `"tasty"`, 1))
	require.Equal(c.t, 200, taken.status, taken.text)
	return int64(taken.body["order_id"].(float64))
}

// rider reports the rider of an order, which becomes a call.
func (c *credentialClient) rider(order int64) {
	c.t.Helper()
	c.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, order, riderData))
}

// await moves the clock until a condition is met.
func (c *credentialClient) await(what string, condition func() bool) {
	c.t.Helper()
	hubtest.WaitUntil(c.t, what, func() bool {
		c.clock.advanceToWork(20 * time.Millisecond)
		return condition()
	})
}

// awaitAtDueTimes moves the clock until calls have succeeded. It stands still while a call is sent, so that a slow
// machine does not change their times.
func (c *credentialClient) awaitAtDueTimes(calls int) {
	c.t.Helper()
	hubtest.WaitUntil(c.t, fmt.Sprint(calls, " calls"), func() bool {
		var step int64 // milliseconds
		pgtest.Row(c.t, c.hub.db, &step, `SELECT CASE WHEN count(owner) = 0 THEN greatest(20, coalesce(
			extract(epoch FROM min(available_at)) * 1000 - ?, 0))::bigint ELSE 0 END
			FROM call_queue WHERE available_at < 'infinity'`, c.clock.Now().UnixMilli())
		c.clock.Advance(time.Duration(step) * time.Millisecond)
		return c.aggregator.succeeded() == calls
	})
}

// requireNoSecretsInRecords checks that no recorded attempt has a secret or a token.
func (c *credentialClient) requireNoSecretsInRecords() {
	c.t.Helper()
	text := ""
	c.await("a record of a token request", func() bool {
		text = pgtest.CallAttemptsText(c.t, c.hub.db)
		return strings.Contains(text, "/oauth/token")
	})
	for _, secret := range []string{"secret-of-the-client", "first-refresh", "granted-token", "granted-refresh",
		"key-of-signatures"} {
		require.NotContains(c.t, text, secret)
	}
}
