package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

func TestConcurrentSignInsStayWithinTheLimit(t *testing.T) {
	clock := clocktest.New()
	records := accessdb.New(hubtest.Database(t, clock))
	account := access.Subject{Name: "account/kim@example.com", Limit: 10}
	try := func(address string, most int) bool {
		allowed, err := records.CountAttempt(t.Context(), []access.Subject{account, {Name: address, Limit: most}},
			clock.Now(), clock.Now().Add(-time.Minute))
		require.NoError(t, err)
		return allowed
	}
	var tries sync.WaitGroup
	var yes atomic.Int64
	for range 60 {
		tries.Go(func() {
			if try("address/one", 100) {
				yes.Add(1)
			}
		})
	}
	tries.Wait()
	require.EqualValues(t, 10, yes.Load())
	account.Name = "account/sam@example.com"
	require.False(t, try("address/one", 10), "only allowed attempts are counted")
	require.True(t, try("address/one", 11))
	clock.Advance(2 * time.Minute)
	require.True(t, try("address/one", 1))
}
