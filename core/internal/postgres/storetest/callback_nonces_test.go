package storetest

import (
	"crypto/sha256"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestNonceIsClaimedOnceAcrossReplicas(t *testing.T) {
	db := hubtest.Database(t, nil)
	ours, theirs := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	callers := platforms.NewCallers(db)
	now := db.Clock().Now()
	nonce := relay.Nonce{Hash: sha256.Sum256([]byte("n-1")), Until: now.Add(time.Hour)}
	claim := func(business core.BusinessID, platform string, until time.Time) relay.NonceState {
		state, err := callers.ClaimNonce(t.Context(), business, platform, nonce.Hash, until)
		require.NoError(t, err)
		return state
	}
	var mu sync.Mutex
	counts := map[relay.NonceState]int{}
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			state, err := callers.ClaimNonce(t.Context(), ours, "a", nonce.Hash, now.Add(time.Minute))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				counts[state]++
			}
		})
	}
	clients.Wait()
	require.Equal(t, map[relay.NonceState]int{relay.NonceClaimed: 1, relay.NoncePending: 7}, counts)
	require.Equal(t, relay.NonceClaimed, claim(ours, "b", now.Add(time.Minute)), "of another platform")
	require.Equal(t, relay.NonceClaimed, claim(theirs, "a", now.Add(time.Minute)), "of another business")

	require.NoError(t, callers.ForgetNonce(t.Context(), ours, "a", nonce))
	require.Equal(t, relay.NonceClaimed, claim(ours, "a", now.Add(time.Minute)), "after a failed request")
	require.NoError(t, callers.KeepNonce(t.Context(), ours, "a", nonce))
	require.NoError(t, callers.ForgetNonce(t.Context(), ours, "a", nonce), "of a request that was accepted meanwhile")
	require.Equal(t, relay.NonceAccepted, claim(ours, "a", now.Add(time.Minute)))

	// The claims of b and of the other business have ended, as after the death of a hub.
	pgtest.Exec(t, db, `UPDATE callback_nonces SET expires_at = ? WHERE NOT accepted`, now.Add(-time.Second))
	require.Equal(t, relay.NonceClaimed, claim(ours, "b", now.Add(time.Minute)))
	require.NoError(t, callers.DeleteExpiredNonces(t.Context()))
	var left int
	pgtest.Row(t, db, &left, `SELECT count(*) FROM callback_nonces`)
	require.Equal(t, 2, left, "a replay is refused while its signature is valid")
	pgtest.Exec(t, db, `UPDATE callback_nonces SET expires_at = ?`, now.Add(-time.Second))
	require.NoError(t, callers.DeleteExpiredNonces(t.Context()))
	pgtest.Row(t, db, &left, `SELECT count(*) FROM callback_nonces`)
	require.Zero(t, left)
}
