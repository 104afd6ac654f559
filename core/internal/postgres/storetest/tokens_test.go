package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// setTasty sets the secrets of the platform "tasty" of a business.
func setTasty(t *testing.T, db *postgres.DB, business core.BusinessID, secrets map[string]string) {
	t.Helper()
	require.NoError(t, platforms.New(db).Set(t.Context(), business,
		core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Settings, a.BaseURLs, a.Secrets = []byte(`{}`), map[string]string{}, secrets
			return nil
		}))
}

func TestTokenLeaseIsStolenOnlyAfterClockChange(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	setTasty(t, db, business, nil)
	key := credential.Key{Business: business, Platform: "tasty", Credential: "partner"}
	store, now := platforms.NewTokens(db), db.Clock().Now()
	until, one, other := now.Add(10*time.Minute), core.NewID(now), core.NewID(now)
	taken := func(owner core.ID, until time.Time) bool {
		_, taken, err := store.Lease(t.Context(), key, owner, until)
		require.NoError(t, err)
		return taken
	}
	require.True(t, taken(one, until))
	for _, earlier := range []time.Duration{0, time.Millisecond, 5 * time.Second, time.Minute} {
		require.False(t, taken(other, until.Add(-earlier)), "%v earlier", earlier)
	}
	require.True(t, taken(one, until.Add(-time.Second)), "the owner renews its lease")
	require.True(t, taken(other, until.Add(-2*time.Minute)), "the clock was set back")
}

func TestTokensOfALostLeaseAreNotSaved(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	setTasty(t, db, business, nil)
	key := credential.Key{Business: business, Platform: "tasty", Credential: "partner"}
	store, now := platforms.NewTokens(db), db.Clock().Now()
	owner := core.NewID(now)
	lease, _, err := store.Lease(t.Context(), key, owner, now.Add(time.Minute))
	require.NoError(t, err)
	lease.Tokens = credential.Tokens{AccessToken: "first", RenewedAt: now}
	for _, want := range []bool{true, false} {
		stored, err := store.Save(t.Context(), key, owner, lease)
		require.NoError(t, err)
		require.Equal(t, want, stored)
		lease.Tokens.AccessToken = "second"
	}
	lease, _, err = store.Lease(t.Context(), key, owner, now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, "first", lease.Tokens.AccessToken)
}

func TestTokensOfRemovedStoreSecretsAreDeleted(t *testing.T) {
	db := hubtest.Database(t, nil)
	ours, theirs := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	store, now := platforms.NewTokens(db), db.Clock().Now()
	secrets := map[string]string{"key": "k", relay.StoreSecret("key", "s1"): "1", relay.StoreSecret("key", "s@2"): "2"}
	for _, business := range []core.BusinessID{ours, theirs} {
		setTasty(t, db, business, secrets)
		for _, name := range []string{"", "s1", "s@2"} {
			_, _, err := store.Lease(t.Context(), credential.Key{Business: business, Platform: "tasty",
				Credential: "partner", Store: name}, core.NewID(now), now.Add(time.Minute))
			require.NoError(t, err)
		}
	}
	of := func(business core.BusinessID) (stores []string) {
		states, err := store.TokenStates(t.Context(), business)
		require.NoError(t, err)
		for _, state := range states {
			stores = append(stores, state.Store)
		}
		return stores
	}
	setTasty(t, db, ours, map[string]string{"key": "k", relay.StoreSecret("key", "s@2"): "2"})
	require.Equal(t, []string{"", "s@2"}, of(ours))
	setTasty(t, db, ours, map[string]string{"key": "k"})
	require.Equal(t, []string{""}, of(ours))
	require.Equal(t, []string{"", "s1", "s@2"}, of(theirs))
}

func TestRateLimitSurvivesCallsWithEarlierTimes(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	rates, now := platforms.NewRates(db), db.Clock().Now().Truncate(time.Millisecond)
	key := relay.RateKey{Business: business, Platform: "tasty", Endpoint: "api"}
	limit := relay.RateLimit{Requests: 1, Period: time.Hour, Burst: 1}
	reserve := func(latest time.Time) time.Time {
		at, err := rates.Reserve(t.Context(), key, limit, latest)
		require.NoError(t, err)
		return at
	}
	base := now.Add(24*time.Hour - time.Minute)
	for range 25 {
		reserve(base)
	}
	next := reserve(base)
	require.True(t, next.After(base))
	for _, earlier := range []time.Duration{time.Millisecond, time.Second, 30 * time.Second} {
		latest := next.Add(-limit.Period - earlier)
		at := reserve(latest)
		require.Equal(t, next, at, "%v earlier", earlier)
	}
	at := reserve(next.Add(-limit.Period - 2*time.Minute))
	require.True(t, at.Before(next), "the clock was set back")
}

func TestRatesOfOrdersAreSeparateAndSwept(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	rates, now := platforms.NewRates(db), db.Clock().Now()
	limit := relay.RateLimit{Requests: 1, Period: time.Hour}
	for _, subject := range []string{"", "store:s1", "store:s2", "order:A-1"} {
		key := relay.RateKey{Business: business, Platform: "tasty", Endpoint: "api", Subject: subject}
		first, err := rates.Reserve(t.Context(), key, limit, now.Add(time.Minute))
		require.NoError(t, err)
		require.False(t, first.After(now.Add(time.Minute)), subject)
		second, err := rates.Reserve(t.Context(), key, limit, now.Add(time.Minute))
		require.NoError(t, err)
		require.True(t, second.After(now.Add(time.Minute)), subject)
	}
	passed := relay.RateKey{Business: business, Platform: "tasty", Endpoint: "api", Subject: "order:A-0"}
	_, err := rates.Reserve(t.Context(), passed, relay.RateLimit{Requests: 1000, Period: time.Second}, now)
	require.NoError(t, err)
	_, err = db.Bun().ExecContext(t.Context(), `UPDATE endpoint_rates SET next_at = next_at - interval '2 minutes'
		WHERE subject = 'order:A-0'`)
	require.NoError(t, err)
	require.NoError(t, rates.Sweep(t.Context()))
	var left []string
	require.NoError(t, db.Bun().NewRaw(`SELECT subject FROM endpoint_rates ORDER BY subject`).Scan(t.Context(), &left))
	require.Equal(t, []string{"", "order:A-1", "store:s1", "store:s2"}, left)
}
