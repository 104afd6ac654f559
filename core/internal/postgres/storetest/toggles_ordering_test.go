package storetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/relay"
)

func TestEnablingDoesNotOpenAStoreWithoutOrdering(t *testing.T) {
	const silence = `INSERT INTO pos_presence (business_id, store_id, seen_at, silent_since)
		VALUES (?, ?, now(), now())`
	for name, enable := range map[string]func(*switchHarness){
		"on request": func(s *switchHarness) { s.switchStore("s1", true, time.Time{}, "a") },
		"by its timer": func(s *switchHarness) {
			s.switchStore("s1", false, s.clock.Now().Add(time.Minute), "a")
			s.clock.Advance(time.Minute)
			s.turnOn()
		},
		"by a returning POS": func(s *switchHarness) {
			pgtest.Exec(s.t, s.db, silence, s.business, s.storeID("s1"))
			for _, closed := range []bool{true, false} {
				require.NoError(s.t, availability.NewPresence(s.db).SetClosed(context.Background(),
					presence.Store{Business: s.business, ID: s.storeID("s1")}, closed, "silent"))
			}
		},
	} {
		for column, closed := range map[string]bool{"ordering_enabled": true, "active": true, "hide_from_ui": false} {
			t.Run(name+", "+column+" false", func(t *testing.T) {
				s := newSwitchHarness(t)
				pgtest.Exec(t, s.db, `UPDATE stores SET `+column+` = false WHERE business_id = ? AND ref_id = 's1'`,
					s.business)
				enable(s)
				require.NotContains(t, s.closed("s1"), "a", "the switch is recorded")
				require.Equal(t, closed, s.lastStoreAction("a").StaysClosed)
			})
		}
	}
}

// lastStoreAction finishes the calls of a platform, and returns the payload of the last one.
func (s *switchHarness) lastStoreAction(platform string) (last relay.StoreActionPayload) {
	s.t.Helper()
	owner := core.NewID(s.clock.Now())
	for calls := s.claimed(owner); len(calls) > 0; calls = s.claimed(owner) {
		for _, c := range calls {
			if c.Platform == platform {
				last = relay.StoreActionPayload{}
				require.NoError(s.t, json.Unmarshal(c.Payload, &last))
			}
			s.finish(owner, c, relay.Done)
		}
	}
	require.True(s.t, last.Enable)
	return last
}
