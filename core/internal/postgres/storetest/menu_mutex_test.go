package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/toggle"
)

func TestSwitchesWaitingForAMenuHoldNoConnection(t *testing.T) {
	s := newSwitchHarness(t)
	const many = 40 // more than the pool has connections
	request := toggle.ItemRequest{LocationRefID: "s1", Items: []string{"curry"}, Action: toggle.Disable}
	hold, commit := pgtest.BeginOther(t, s.db)
	hold(`SELECT pg_advisory_xact_lock(hashtextextended('servery menu ' || ?, 0))`, int64(s.business))

	ended := make(chan error, many)
	for range many {
		go func() {
			_, err := s.toggles.SwitchItems(context.Background(), s.business, request, core.NewID(s.clock.Now()),
				"key:pos")
			ended <- err
		}()
	}
	eventually(t, "all wait", func() bool { return pgtest.MenuMutexWaiting(s.db, s.business) == many })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := stores.New(s.db).Get(ctx, s.business, "s1")
	require.NoError(t, err, "a connection is free")
	require.False(t, pgtest.HasWaiters(t, s.db), "nor does the database hold them")

	impatient, giveUp := context.WithCancel(context.Background())
	giveUp()
	_, err = s.toggles.SwitchItems(impatient, s.business, request, core.NewID(s.clock.Now()), "key:pos")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	commit()
	for range many {
		require.NoError(t, <-ended)
	}
	require.Zero(t, pgtest.MenuMutexWaiting(s.db, s.business))
}
