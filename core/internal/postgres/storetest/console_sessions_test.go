package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
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

func TestLeastRecentlyUsedSessionsEnd(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	records := accessdb.New(db)
	create := func(email string) int64 {
		user, _, err := accessdb.NewAccounts(db).CreateUser(t.Context(), access.User{Email: email,
			Role: access.Viewer}, "cli", "test")
		require.NoError(t, err)
		return user.ID
	}
	hash := func(user int64, n int) []byte { return core.TokenHash(fmt.Sprint(user, "/", n)) }
	start := func(user int64, n int, replaced []byte) {
		t.Helper()
		clock.Advance(time.Second)
		session := access.Session{Hash: hash(user, n), User: user, CreatedAt: clock.Now(), SeenAt: clock.Now()}
		require.NoError(t, records.StartSession(t.Context(), session, replaced,
			access.Change{Actor: "test", Action: "user.sign_in"}))
	}
	ended := func(user int64, n int) bool {
		_, _, err := records.SessionUser(t.Context(), hash(user, n))
		return core.CodeOf(err) == core.NotFound
	}
	sam, kim := create("sam@example.com"), create("kim@example.com")
	start(kim, 0, core.TokenHash(""))
	for n := range access.MaxSessions {
		start(sam, n, core.TokenHash(""))
	}
	clock.Advance(time.Second)
	require.NoError(t, records.TouchSession(t.Context(), hash(sam, 0), sam, clock.Now()))
	start(sam, access.MaxSessions, hash(sam, 2))
	require.Equal(t, []bool{false, false, true, false},
		[]bool{ended(sam, 0), ended(sam, 1), ended(sam, 2), ended(sam, 3)})
	start(sam, access.MaxSessions+1, core.TokenHash(""))
	require.Equal(t, []bool{false, true, false}, []bool{ended(sam, 0), ended(sam, 1), ended(sam, 3)})
	require.False(t, ended(kim, 0))
}
