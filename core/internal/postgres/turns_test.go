package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/toggle"
)

func TestSwitchesThatWaitForAMenuJobLeaveTheConnectionsToOthers(t *testing.T) {
	s := newSwitches(t)
	const many = 40 // more than there are connections
	request := toggle.ItemRequest{LocationRefID: "s1", Items: []string{"curry"}, Action: toggle.Disable}
	hold, commit := s.db.Other(t)
	hold(`SELECT pg_advisory_xact_lock(hashtextextended('servery menu ' || ?, 0))`, int64(s.business))

	ended := make(chan error, many)
	for range many {
		go func() {
			_, _, err := s.toggles.SwitchItems(context.Background(), s.business, request, core.NewID(s.clock.Now()), "key:pos")
			ended <- err
		}()
	}
	eventually(t, "all wait", func() bool { return s.db.TurnsWaiting(s.business) == many })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := postgres.Stores{DB: s.db}.Get(ctx, s.business, "s1")
	require.NoError(t, err, "a connection is free")
	require.False(t, s.db.SomebodyWaits(t), "nor does the database hold them")

	impatient, giveUp := context.WithCancel(context.Background())
	giveUp()
	_, _, err = s.toggles.SwitchItems(impatient, s.business, request, core.NewID(s.clock.Now()), "key:pos")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	commit()
	for range many {
		require.NoError(t, <-ended)
	}
	require.Zero(t, s.db.TurnsWaiting(s.business))
}
