package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// setWorkload sets how busy s1 is on the platform a.
func (s *switchHarness) setWorkload(action toggle.Action, minutes int64) error {
	_, err := s.toggles.SetWorkload(s.t.Context(), s.business, toggle.StoreRequest{LocationRefID: "s1",
		Platforms: []string{"a"}, Action: action, PrepMinutes: minutes}, core.NewID(s.clock.Now()), "key:pos")
	return err
}

// requireSentWorkload checks that the last call to a platform has the stored workload of the store.
func (s *switchHarness) requireSentWorkload() {
	s.t.Helper()
	var sent, stored []byte
	pgtest.Row(s.t, s.db, &sent, `SELECT payload FROM calls WHERE business_id = ? AND platform = 'a'
		ORDER BY sequence DESC LIMIT 1`, s.business)
	pgtest.Row(s.t, s.db, &stored, `SELECT coalesce(json_agg(prep_minutes), '[]') FROM store_workloads
		WHERE business_id = ?`, s.business)
	var payload relay.StoreActionPayload
	require.NoError(s.t, json.Unmarshal(sent, &payload))
	want := "[]"
	if payload.Workload.Busy {
		want = fmt.Sprintf("[%d]", payload.Workload.PrepMinutes)
	}
	require.Equal(s.t, want, string(stored), "the platform was last sent %s", sent)
}

func TestConcurrentBusyRequestsAreSentAsStored(t *testing.T) {
	for name, requests := range map[string][2]toggle.Action{
		"busy twice":      {toggle.Busy, toggle.Busy},
		"busy and normal": {toggle.Busy, toggle.Normal},
		"normal and busy": {toggle.Normal, toggle.Busy},
	} {
		for _, before := range []toggle.Action{toggle.Normal, toggle.Busy} {
			t.Run(fmt.Sprint(name, ", before ", before), func(t *testing.T) {
				s := newSwitchHarness(t)
				require.NoError(t, s.setWorkload(before, 10))
				exec, commit := pgtest.BeginOther(t, s.db)
				exec(`LOCK TABLE call_queue IN SHARE ROW EXCLUSIVE MODE`) // no request can queue its call
				var running errgroup.Group
				for n, action := range requests {
					running.Go(func() error { return s.setWorkload(action, int64(20+10*n)) })
					eventually(t, "it waits", func() bool { return pgtest.Waiters(t, s.db) == n+1 })
				}
				commit()
				require.NoError(t, running.Wait())
				s.requireSentWorkload()
			})
		}
	}
}
