package credential

import (
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
)

var partner = Key{1, "tasty", "partner", ""}

// loseSave makes a first renewal with a rotated refresh token, which cannot be stored.
func (f *fixture) loseSave(m *Manager) {
	f.t.Helper()
	f.rotate()
	f.setFailing(1 << 30)
	var err error
	f.await(func() { _, err = m.Token(f.t.Context(), f.request("")) })
	require.ErrorContains(f.t, err, "storing the renewed tokens failed: the database is unavailable")
	require.Equal(f.t, 1, f.server.count())
	f.clock.Advance(retryInterval)
}

func (f *fixture) setFailing(times int) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.failing = times
}

// stored returns the stored refresh token.
func (f *fixture) stored() string {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.store.rows[partner].lease.Tokens.RefreshToken
}

func TestUnsavedTokensAreStoredBeforeARequest(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.loseSave(m)
	var err error
	f.await(func() { _, err = m.Token(t.Context(), f.request("")) })
	require.ErrorContains(t, err, "storing the renewed tokens failed")
	require.Equal(t, 1, f.server.count(), "nothing is requested while they cannot be stored")

	f.clock.Advance(retryInterval)
	f.setFailing(0)
	require.Equal(t, relay.Token{Value: "token-number-1"}, f.token(m))
	require.Equal(t, "refresh-number-1", f.stored())
	require.Empty(t, m.unsaved)
}

func TestUnsavedTokensSurviveFailuresAndNewSecrets(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.loseSave(m)
	m.mu.Lock()
	clear(m.entries) // as an eviction does
	m.mu.Unlock()
	f.setFailing(0)
	f.access.Secrets["client_secret"] = "another"
	rotating := f.server.respond
	f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool { w.WriteHeader(500); return true })
	_, err := m.Token(t.Context(), f.request(""))
	require.ErrorContains(t, err, "500")
	require.Equal(t, "refresh-number-1", f.stored())
	f.server.respondWith(rotating)
	f.clock.Advance(retryInterval)
	require.Equal(t, "token-number-3", f.token(m).Value)
	require.Equal(t, "refresh-number-1", f.server.requests[2].Get("refresh_token"))
}

func TestUnsavedTokensYieldToNewerOnes(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.loseSave(m)
	f.setFailing(0)
	digest, err := resolve(f.request(""))
	require.NoError(t, err)
	f.store.rows[partner].lease = Lease{Version: 7, Tokens: Tokens{AccessToken: "newer", Digest: digest.digest(),
		RefreshToken: "newer refresh"}}
	require.Equal(t, relay.Token{Value: "newer"}, f.token(m))
	require.Equal(t, "newer refresh", f.stored())
	require.Empty(t, m.unsaved)
}

func TestCloseStoresUnsavedTokens(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.loseSave(m)
	f.setFailing(2)
	f.await(m.Close)
	require.Equal(t, "refresh-number-1", f.stored())
}

func TestOlderCallReplacesNoNewerRefreshToken(t *testing.T) {
	f := newFixture(t)
	f.rotate()
	m := f.replica()
	f.token(m)
	older := f.request("token-number-1")
	older.Access.Secrets = maps.Clone(older.Access.Secrets)
	older.Access.Secrets["refresh"] = "of the past"
	_, err := m.Token(t.Context(), older)
	require.ErrorIs(t, err, errChanged)
	require.Equal(t, 1, f.server.count())
	require.Equal(t, "refresh-number-1", f.stored())
	f.clock.Advance(10 * time.Minute)
	require.Equal(t, "token-number-2", f.token(m).Value)
}

func TestRenewalUsesTokensStoredMeanwhile(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	resolved, err := resolve(f.request(""))
	require.NoError(t, err)
	for _, digest := range []string{"of other secrets", resolved.digest()} {
		f.server.respondWith(func(int, http.ResponseWriter, url.Values) bool {
			f.store.mu.Lock()
			defer f.store.mu.Unlock()
			row := f.store.rows[partner]
			row.lease.Version++
			row.lease.Tokens = Tokens{AccessToken: "of another replica", Digest: digest}
			return false
		})
		token, err := m.Token(t.Context(), f.request(""))
		if digest != resolved.digest() {
			require.ErrorIs(t, err, errReplaced)
			f.clock.Advance(retryInterval)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "of another replica", token.Value)
		require.Equal(t, 200, token.Request.Status)
	}
}

func TestRenewalsOfRejectedTokensBackOff(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	token := f.token(m).Value
	renew := func() error {
		renewed, err := m.Token(t.Context(), f.request(token))
		if err == nil {
			token = renewed.Value
		}
		return err
	}
	require.NoError(t, renew())
	for _, seconds := range []int{10, 20, 40, 80, 160, 300, 300} {
		interval := time.Duration(seconds) * time.Second
		f.clock.Advance(interval - time.Second)
		var rejected relay.RejectedTokenError
		require.ErrorAs(t, renew(), &rejected)
		require.Equal(t, f.clock.Now().Add(time.Second), rejected.Next)
		f.clock.Advance(time.Second)
		require.NoError(t, renew())
	}
	f.clock.Advance(2 * maxRejectInterval)
	require.NoError(t, renew())
	f.clock.Advance(rejectInterval)
	require.NoError(t, renew(), "a token that was accepted for a while ends the delay")
}

func TestFailedTokenRequestsBackOff(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool { w.WriteHeader(500); return true })
	fail := func(requests int) {
		_, err := m.Token(t.Context(), f.request(""))
		require.ErrorContains(t, err, "500")
		require.Equal(t, requests, f.server.count())
	}
	fail(1)
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 120, 120} {
		f.clock.Advance(time.Duration(seconds)*time.Second - time.Millisecond)
		fail(i + 1)
		f.clock.Advance(time.Millisecond)
		fail(i + 2)
	}
	f.server.respondWith(nil)
	f.clock.Advance(maxRetryInterval)
	token := f.token(m).Value
	f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool { w.WriteHeader(500); return true })
	for range 2 {
		_, err := m.Token(t.Context(), f.request(token))
		require.ErrorContains(t, err, "500")
		f.clock.Advance(retryInterval)
	}
	require.Equal(t, 13, f.server.count(), "a success ends the delay")
}

func TestCertificateIsPartOfATokensIdentity(t *testing.T) {
	f := newFixture(t)
	f.oauth.Certificate = relay.Certificate{Chain: "chain", Key: "key"}
	f.access.Secrets["chain"], f.access.Secrets["key"] = "CHAIN", "KEY"
	m := f.replica()
	require.Equal(t, "token-number-1", f.token(m).Value)
	f.access.Secrets["chain"] = "CHAIN 2"
	require.Equal(t, "token-number-2", f.token(m).Value)
	f.access.Secrets[relay.StoreSecret("key", "s1")] = "KEY of s1"
	require.Equal(t, "token-number-3", f.token(m).Value)
	require.Contains(t, f.store.rows, Key{1, "tasty", "partner", "s1"}, "the store has own tokens")
}

func TestRenewalIsRetriedAfterAClockStepBack(t *testing.T) {
	f := newFixture(t)
	m := f.replica()
	f.server.respondWith(func(n int, w http.ResponseWriter, _ url.Values) bool {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n == 1
	})
	_, err := m.Token(t.Context(), f.request(""))
	require.Error(t, err)
	f.clock.Advance(-time.Second)
	_, err = m.Token(t.Context(), f.request(""))
	require.Error(t, err, "a small correction")
	require.Equal(t, 1, f.server.count())
	f.clock.Advance(-time.Hour)
	f.token(m)
	require.Equal(t, 2, f.server.count())
}
