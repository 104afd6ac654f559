package credential

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
)

func TestTokenIsRenewedShortlyBeforeItExpires(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	first := f.token(m)
	require.Equal(t, "token-number-1", first.Value)
	require.True(t, first.Fresh)
	f.clock.Advance(58 * time.Minute)
	cached := f.token(m)
	require.Equal(t, relay.Token{Value: "token-number-1"}, cached, "a cached token makes no request")
	f.clock.Advance(61 * time.Second)
	require.Equal(t, "token-number-2", f.token(m).Value)
	require.Equal(t, 2, f.server.count())
}

func TestClientAuthenticatesInHeaderOrBody(t *testing.T) {
	f := newFixture(t)
	f.oauth.Scope, f.oauth.Parameters = "orders menus", map[string]string{"audience": "partner"}
	f.token(f.replica())
	require.Equal(t, url.Values{"grant_type": {"client_credentials"},
		"scope": {"orders menus"}, "audience": {"partner"}},
		f.server.requests[0])
	r := http.Request{Header: f.server.headers[0]}
	user, password, ok := r.BasicAuth()
	require.True(t, ok)
	require.Equal(t, []string{"client+one", url.QueryEscape(clientSecret)}, []string{user, password}, "RFC 6749, 2.3.1")

	f.oauth.InBody = true
	f.token(f.replica())
	require.Equal(t, clientSecret, f.server.requests[1].Get("client_secret"))
	require.Empty(t, f.server.headers[1].Get("Authorization"))
}

func TestConcurrentCallsShareOneTokenRequest(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	var group sync.WaitGroup
	tokens := make([]relay.Token, 50)
	for i := range tokens {
		group.Add(1)
		go func() {
			defer group.Done()
			tokens[i], _ = m.Token(t.Context(), f.request(""))
		}()
	}
	group.Wait()
	requests := 0
	for _, token := range tokens {
		require.Equal(t, "token-number-1", token.Value)
		if token.Request != nil {
			requests++
		}
	}
	require.Equal(t, 1, f.server.count())
	require.Equal(t, 1, requests, "the request is recorded with one call")
}

func TestRejectedTokenIsRenewedOnceByAllCalls(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	old := f.token(m).Value
	var group sync.WaitGroup
	for range 50 {
		group.Add(1)
		go func() {
			defer group.Done()
			token, err := m.Token(t.Context(), f.request(old))
			if err != nil || token.Value != "token-number-2" {
				t.Errorf("%q, %v", token.Value, err)
			}
		}()
	}
	group.Wait()
	require.Equal(t, 2, f.server.count())

	_, err := m.Token(t.Context(), f.request("token-number-2"))
	require.ErrorContains(t, err, `rejected the new access token of the credential "partner"`)
	require.Equal(t, 2, f.server.count(), "an aggregator that rejects every token is not flooded")
	f.clock.Advance(rejectInterval)
	token, err := m.Token(t.Context(), f.request("token-number-2"))
	require.NoError(t, err)
	require.Equal(t, "token-number-3", token.Value)
}

func TestRefusedCredentialsNameTheirSecrets(t *testing.T) {
	f := newFixture(t)
	f.server.respondWith(func(_ int, w http.ResponseWriter, form url.Values) bool {
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no such client: %s","got":"%s"}`, clientSecret,
			strings.ReplaceAll(clientSecret, "/", `\/`))
		return true
	})
	m := f.replica()
	token, err := m.Token(t.Context(), f.request(""))
	const why = `the aggregator rejected the credentials "partner": it responded to the token request with ` +
		`401 invalid_client: check the secrets client_id, client_secret`
	require.EqualError(t, err, why)
	require.Equal(t, 401, token.Request.Status)
	require.Equal(t, why, token.Request.Error)
	record, err := json.Marshal(token.Request)
	require.NoError(t, err)
	require.NotContains(t, string(record), clientSecret)
	require.NotContains(t, string(token.Request.ResponseBody), "of+the")
	require.Equal(t, why, f.store.rows[Key{1, "tasty", "partner", ""}].failure)

	_, err = m.Token(t.Context(), f.request(""))
	require.EqualError(t, err, why)
	require.Equal(t, 1, f.server.count(), "the next request waits a second")
	f.server.respondWith(nil)
	f.access.Secrets = map[string]string{"client_id": "client one", "client_secret": "another"}
	require.Equal(t, "token-number-2", f.token(m).Value, "a new secret takes effect at once")
}

func TestHangingTokenEndpointFailsWithinItsTimeLimit(t *testing.T) {
	f := newFixture(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.server.respondWith(func(int, http.ResponseWriter, url.Values) bool { <-release; return false })
	m := f.replica()
	_, err := m.Token(t.Context(), f.request(""))
	require.ErrorContains(t, err, `the token request of the credential "partner" failed: no complete response within`)
}

func TestValidTokenIsUsedWhileRenewalFails(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.token(m)
	f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool { w.WriteHeader(503); return true })
	f.clock.Advance(59*time.Minute + time.Second)
	token := f.token(m)
	require.Equal(t, "token-number-1", token.Value)
	require.Equal(t, 503, token.Request.Status, "the failed renewal is recorded")
	f.clock.Advance(time.Minute)
	_, err := m.Token(t.Context(), f.request(""))
	require.EqualError(t, err, `the aggregator responded to the token request of the credential "partner" with 503`)
}

func TestThrottledTokenRequestsWaitForRetryAfter(t *testing.T) {
	f := newFixture(t)
	f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(429)
		return true
	})
	m := f.replica()
	for _, requests := range []int{1, 1, 2} {
		_, err := m.Token(t.Context(), f.request(""))
		require.ErrorContains(t, err, "429")
		require.Equal(t, requests, f.server.count())
		f.clock.Advance(20 * time.Second)
	}
}

func TestReplicasShareTokensAndOneRenewal(t *testing.T) {
	f := newFixture(t)
	one, other := f.replica(), f.replica()
	require.Equal(t, "token-number-1", f.token(one).Value)
	require.Equal(t, "token-number-1", f.token(other).Value)
	require.Equal(t, 1, f.server.count())
	token, err := one.Token(t.Context(), f.request("token-number-1"))
	require.NoError(t, err)
	require.Equal(t, "token-number-2", token.Value)
	token, err = other.Token(t.Context(), f.request("token-number-1"))
	require.NoError(t, err)
	require.Equal(t, relay.Token{Value: "token-number-2"}, token, "another replica has renewed it")
}

// rotate makes the server accept each refresh token once.
func (f *fixture) rotate() {
	f.oauth.RefreshToken = "refresh"
	f.server.lifetime = 600
	valid := firstRefresh
	f.server.respondWith(func(n int, w http.ResponseWriter, form url.Values) bool {
		f.server.mu.Lock()
		defer f.server.mu.Unlock()
		if form.Get("refresh_token") != valid {
			w.WriteHeader(400)
			_, _ = fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return true
		}
		valid = fmt.Sprintf("refresh-number-%d", n)
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("token-number-%d", n),
			"refresh_token": valid, "expires_in": fmt.Sprint(f.server.lifetime)})
		return true
	})
}

func TestRotatedRefreshTokensSurviveReplicasAndRestarts(t *testing.T) {
	f := newFixture(t)
	f.rotate()
	one, other := f.replica(), f.replica()
	require.Equal(t, "token-number-1", f.token(one).Value)
	f.clock.Advance(10 * time.Minute)
	token := f.token(other)
	require.Equal(t, "token-number-2", token.Value)
	record, err := json.Marshal(token.Request)
	require.NoError(t, err)
	for _, secret := range []string{"token-number-2", "refresh-number-1", "refresh-number-2", clientSecret} {
		require.NotContains(t, string(record), secret)
	}
	require.Contains(t, string(token.Request.RequestBody), "grant_type=refresh_token&refresh_token=••••••")

	var group sync.WaitGroup
	f.clock.Advance(10 * time.Minute)
	for _, m := range []*Manager{one, other, f.replica()} {
		for range 10 {
			group.Add(1)
			go func() {
				defer group.Done()
				if token, err := m.Token(t.Context(), f.request("")); err != nil || token.Value != "token-number-3" {
					t.Errorf("%q, %v", token.Value, err)
				}
			}()
		}
	}
	f.await(group.Wait) // a replica that waits for another looks again after a while
	require.Equal(t, 3, f.server.count())
}

func TestRotatedRefreshTokenSurvivesADatabaseOutage(t *testing.T) {
	f := newFixture(t)
	f.rotate()
	m := f.replica()
	f.store.failing = 3
	f.await(func() {
		token, err := m.Token(context.Background(), f.request(""))
		if err != nil || token.Value != "token-number-1" {
			t.Errorf("%q, %v", token.Value, err)
		}
	})
	require.Equal(t, "refresh-number-1", f.store.rows[Key{1, "tasty", "partner", ""}].lease.Tokens.RefreshToken)
}

func TestRefreshTokenOfAnOperatorReplacesTheStored(t *testing.T) {
	f := newFixture(t)
	f.rotate()
	f.token(f.replica())
	f.access.Secrets = map[string]string{"client_id": "client one", "client_secret": clientSecret,
		"refresh": "renewed"}
	_, err := f.replica().Token(t.Context(), f.request(""))
	require.ErrorContains(t, err, "400 invalid_grant: check the secrets client_id, client_secret, refresh")
	require.Equal(t, "renewed", f.server.requests[1].Get("refresh_token"))

	f.access.Secrets = map[string]string{"client_id": "client one", "client_secret": "another",
		"refresh": firstRefresh}
	require.Equal(t, "token-number-3", f.token(f.replica()).Value, "another client secret keeps the refresh token")
	require.Equal(t, "refresh-number-1", f.server.requests[2].Get("refresh_token"))
}

func TestStoresWithOwnSecretsHaveOwnTokens(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	require.Equal(t, "token-number-1", f.token(m).Value)
	f.access.Secrets[relay.StoreSecret("client_secret", "s2")] = "of the second store"
	require.Equal(t, "token-number-1", f.token(m).Value)
	request := f.request("")
	request.Store = "s2"
	token, err := m.Token(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "token-number-2", token.Value)
	require.Contains(t, f.store.rows, Key{1, "tasty", "partner", "s2"})
}

func TestTokenRequestsReachOnlyAllowedAddresses(t *testing.T) {
	f := newFixture(t)
	_, err := f.replica("10.0.0.0/8").Token(t.Context(), f.request(""))
	require.ErrorContains(t, err, "the IP address is not on the public internet")
	f.oauth.Hosts = []string{"*.example.com"}
	_, err = f.replica().Token(t.Context(), f.request(""))
	require.ErrorAs(t, err, &relay.MissingSettingError{})
	f.oauth.Endpoint, f.oauth.TokenURL = "", f.server.URL
	_, err = f.replica().Token(t.Context(), f.request(""))
	require.ErrorAs(t, err, &relay.MissingSettingError{})
	delete(f.access.Secrets, "client_secret")
	f.oauth.Hosts = []string{"127.0.0.1"}
	_, err = f.replica().Token(t.Context(), f.request(""))
	require.EqualError(t, err, `the platform has no secret "client_secret", which its plugin requires`)
	require.Zero(t, f.server.count())
}
