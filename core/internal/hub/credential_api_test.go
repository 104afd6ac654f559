package hub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/relay"
)

const withPartner = `{"endpoint":"api","credentials":["partner"]}`

func TestCallsShareATokenAndRenewItAfter401(t *testing.T) {
	c := newCredentialClient(t, withPartner)
	var list []int64
	for i := range 50 {
		list = append(list, c.order(fmt.Sprint("T-", i)))
	}
	for _, order := range list {
		c.rider(order)
	}
	c.await("all calls", func() bool { return c.aggregator.succeeded() == 50 })
	tokens, calls := c.aggregator.seen()
	require.Len(t, tokens, 1)
	require.Equal(t, "secret-of-the-client", tokens[0].Get("basic"))
	require.Len(t, calls, 50)

	access, err := platforms.New(c.hub.db).Access(t.Context(), c.tenant.ID, "tasty")
	require.NoError(t, err)
	replica := &credential.Manager{Store: platforms.NewTokens(c.hub.db), Platforms: platforms.New(c.hub.db),
		Sender: outbound{c.hub.aggregatorSender}, Clock: c.clock, Log: hubtest.Logger()}
	shared, err := replica.Token(t.Context(), relay.TokenRequest{Business: c.tenant.ID, Platform: "tasty",
		Credential: "partner", Access: access, OAuth2: &relay.OAuth2{Endpoint: "api", Hosts: []string{"127.0.0.1"},
			Path: "/oauth/token", ClientID: "client_id", ClientSecret: "client_secret"}})
	require.NoError(t, err)
	require.Equal(t, relay.Token{Value: "granted-token-1"}, shared, "another replica requests no token")
	replica.Close()

	c.aggregator.change(func() { c.aggregator.token = "revoked" })
	order := c.order("T-51")
	c.rider(order)
	c.await("the call with a new token", func() bool { return c.aggregator.succeeded() == 51 })
	_, calls = c.aggregator.seen()
	require.Len(t, calls, 52, "the request is repeated at once")
	require.Equal(t, 401, calls[50].status)
	c.await("the record", func() bool { return len(pgtest.CallRequests(t, c.hub.db, order)) > 0 })
	require.Equal(t, []string{"1 401 status /riders", "1 200  /oauth/token", "1 200  /riders"},
		pgtest.CallRequests(t, c.hub.db, order))

	c.clock.Advance(10 * time.Minute)
	c.rider(c.order("T-52"))
	c.await("the call after the expiry", func() bool { return c.aggregator.succeeded() == 52 })
	_, calls = c.aggregator.seen()
	require.Len(t, calls, 53, "an expired token is not sent")
	c.requireNoSecretsInRecords()
}

func TestRefusedCredentialsAreRetriedAndShown(t *testing.T) {
	c := newCredentialClient(t, withPartner)
	c.aggregator.change(func() { c.aggregator.refuse = true })
	order := c.order("T-1")
	c.rider(order)
	state := func() (s platforms.TokenState) {
		list, err := platforms.NewTokens(c.hub.db).TokenStates(t.Context(), c.tenant.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	c.await("two recorded attempts", func() bool { return len(pgtest.CallRequests(t, c.hub.db, order)) >= 2 })
	tokens, _ := c.aggregator.seen()
	require.NotEmpty(t, tokens)
	require.Contains(t, state().Failure, `the aggregator rejected the credentials "partner"`)
	require.True(t, state().RenewedAt.IsZero())
	calls, err := consolelists.New(c.hub.db).CallsOfOrder(t.Context(), c.tenant.ID, order)
	require.NoError(t, err)
	sent := slices.IndexFunc(calls, func(call console.Call) bool { return len(call.Attempts) > 0 })
	require.Contains(t, calls[sent].Attempts[0].Error, "check the secrets client_id, client_secret")
	require.Equal(t, "credentials", calls[sent].Attempts[0].ErrorClass)

	c.aggregator.change(func() { c.aggregator.refuse = false })
	c.await("the call", func() bool { return c.aggregator.succeeded() == 1 })
	c.await("the state", func() bool { return state().Failure == "" })
	require.False(t, state().RenewedAt.IsZero())
	require.Equal(t, 10*time.Minute, state().ExpiresAt.Sub(state().RenewedAt))
	c.requireNoSecretsInRecords()
}

func TestSignatureCoversTheRequestAsSent(t *testing.T) {
	c := newCredentialClient(t, `{"endpoint":"api","credentials":["signed","partner"]}`)
	order := c.order("T-1")
	c.rider(order)
	c.await("the call", func() bool { return c.aggregator.succeeded() == 1 })
	_, calls := c.aggregator.seen()
	timestamp := calls[0].headers.Get("X-Timestamp")
	require.Equal(t, fmt.Sprintf("/riders/%d?of=a+store", order), calls[0].uri)
	mac := hmac.New(sha256.New, []byte("key-of-signatures"))
	fmt.Fprintf(mac, "POST\n/riders/%d?of=a+store\n%s\n%s", order, timestamp, calls[0].body)
	require.Equal(t, "v1="+hex.EncodeToString(mac.Sum(nil)), calls[0].headers.Get("X-Signature"))
	require.NotEmpty(t, timestamp)
}

func TestRateLimitOfAnEndpointHoldsForReplicas(t *testing.T) {
	c := newCredentialClient(t, `{"endpoint":"slow","credentials":[]}`)
	for i := range 4 {
		c.rider(c.order(fmt.Sprint("T-", i)))
	}
	c.awaitAtDueTimes(4)
	_, calls := c.aggregator.seen()
	require.Less(t, calls[1].at.Sub(calls[0].at), 10*time.Second, "a burst of two")
	for i := range 2 {
		require.WithinRange(t, calls[i+2].at, calls[0].at.Add(time.Duration(i+1)*10*time.Second-100*time.Millisecond),
			calls[0].at.Add(time.Minute))
	}

	one, other := platforms.NewRates(c.hub.db), platforms.NewRates(c.hub.db)
	key := relay.RateKey{Business: c.tenant.ID, Platform: "tasty", Endpoint: "api"}
	limit, now := relay.RateLimit{Requests: 2, Period: time.Second, Burst: 2}, c.clock.Now()
	for i, rates := range []platforms.Rates{one, other, one, other} {
		at, err := rates.Reserve(t.Context(), key, limit, now.Add(time.Second))
		require.NoError(t, err)
		require.WithinDuration(t, now.Add(max(0, time.Duration(i-1))*time.Second/2), at, time.Millisecond)
	}
	at, err := one.Reserve(t.Context(), key, limit, now.Add(time.Second))
	require.NoError(t, err)
	require.WithinDuration(t, now.Add(1500*time.Millisecond), at, time.Millisecond, "too late: it is not reserved")
	at, err = other.Reserve(t.Context(), key, limit, now.Add(2*time.Second))
	require.NoError(t, err)
	require.WithinDuration(t, now.Add(1500*time.Millisecond), at, time.Millisecond)
}

func TestRateLimitOfAnOrderDelaysNoOther(t *testing.T) {
	c := newCredentialClient(t, `{"endpoint":"per_order","credentials":[]}`)
	first, other := c.order("T-1"), c.order("T-2")
	c.rider(first)
	c.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"AT-STORE","rider_data":%s}`, first, riderData))
	c.rider(other)
	c.awaitAtDueTimes(3)
	_, calls := c.aggregator.seen()
	at := map[string][]time.Time{}
	for _, call := range calls {
		at[call.uri] = append(at[call.uri], call.at)
	}
	ours, others := at[fmt.Sprintf("/riders/%d?of=a+store", first)], at[fmt.Sprintf("/riders/%d?of=a+store", other)]
	require.Len(t, ours, 2)
	require.Len(t, others, 1)
	require.Greater(t, ours[1].Sub(ours[0]), 9*time.Second)
	require.Less(t, others[0].Sub(ours[0]), 9*time.Second)
}

func TestStoresUseTheirOwnSecrets(t *testing.T) {
	c := newCredentialClient(t, withPartner)
	c.secrets[relay.StoreSecret("client_secret", "s1")] = "secret-of-the-client-at-s1"
	c.set(withPartner)
	c.rider(c.order("T-1"))
	c.await("the call", func() bool { return c.aggregator.succeeded() == 1 })
	tokens, _ := c.aggregator.seen()
	require.Equal(t, "secret-of-the-client-at-s1", tokens[0].Get("basic"))
	states, err := platforms.NewTokens(c.hub.db).TokenStates(t.Context(), c.tenant.ID)
	require.NoError(t, err)
	require.Equal(t, "s1", states[0].Store)
	c.requireNoSecretsInRecords()
}

func TestRotatedRefreshTokenSurvivesALostReplica(t *testing.T) {
	c := newCredentialClient(t, `{"endpoint":"api","credentials":["renewed"]}`)
	c.rider(c.order("T-1"))
	c.await("the call", func() bool { return c.aggregator.succeeded() == 1 })
	require.Equal(t, "granted-refresh-1", c.aggregator.refresh)

	// A replica that leased the tokens and was killed delays the others until the end of its lease.
	key := credential.Key{Business: c.tenant.ID, Platform: "tasty", Credential: "renewed"}
	store, killed := platforms.NewTokens(c.hub.db), core.NewID(c.clock.Now())
	lease, taken, err := store.Lease(t.Context(), key, killed, c.clock.Now().Add(10*time.Second))
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, "granted-refresh-1", lease.Tokens.RefreshToken)
	_, taken, err = store.Lease(t.Context(), key, core.NewID(c.clock.Now()), c.clock.Now().Add(10*time.Second))
	require.NoError(t, err)
	require.False(t, taken)
	c.aggregator.change(func() { c.aggregator.token = "revoked" })
	c.rider(c.order("T-2"))
	c.await("the call", func() bool { return c.aggregator.succeeded() == 2 })
	tokens, _ := c.aggregator.seen()
	require.Equal(t, "granted-refresh-1", tokens[1].Get("refresh_token"))

	sealed, err := schema.CountSealed(t.Context(), c.hub.db)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(sealed, func(s schema.SealedBy) bool {
		return s.Column == "platform_tokens.sealed" && len(s.Keys) == 1 && s.Unreadable == 0
	}), "the change of the secret key includes tokens")
	lease.Tokens.RefreshToken = "of the past"
	stored, err := store.Save(t.Context(), key, killed, lease)
	require.NoError(t, err)
	require.False(t, stored)
	lease, _, err = store.Lease(t.Context(), key, killed, c.clock.Now().Add(10*time.Second))
	require.NoError(t, err)
	require.Equal(t, "granted-refresh-2", lease.Tokens.RefreshToken, "a late renewal replaces no newer one")
	c.requireNoSecretsInRecords()
}
