package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/relay"
)

// status returns the platforms that have reported an outcome and those still waiting.
func (s *switchHarness) status(reference core.ID) (events, waiting []string) {
	s.t.Helper()
	standing, err := s.toggles.Status(context.Background(), s.business, reference)
	require.NoError(s.t, err)
	for _, event := range standing.Events {
		var body struct {
			Platform  string  `json:"platform"`
			Reference core.ID `json:"reference_id"`
		}
		require.NoError(s.t, json.Unmarshal(event.Body, &body))
		require.Equal(s.t, reference, body.Reference)
		events = append(events, string(event.Type)+" "+body.Platform)
	}
	for _, w := range standing.Pending {
		waiting = append(waiting, w.Platform)
	}
	return events, waiting
}

// There are no subscriptions in this test.
func TestSwitchStatusIsReadByReference(t *testing.T) {
	s := newSwitchHarness(t)
	first := s.switchStore("s1", false, time.Time{})
	s.clock.Advance(time.Second)
	second := s.switchStore("s1", true, time.Time{}, "a")
	events, waiting := s.status(first)
	require.Equal(t, []string{"store_action app", "store_action web"}, events)
	require.Equal(t, []string{"a", "b"}, waiting)
	events, waiting = s.status(second)
	require.Empty(t, events)
	require.Equal(t, []string{"a"}, waiting)

	owner := core.NewID(s.clock.Now())
	for _, c := range s.claimed(owner) {
		s.finish(owner, c, relay.Done)
	}
	events, waiting = s.status(first)
	require.ElementsMatch(t, []string{"store_action app", "store_action web", "store_action a", "store_action b"},
		events)
	require.Empty(t, waiting)
	_, waiting = s.status(second)
	require.Equal(t, []string{"a"}, waiting, "it waited for the first")

	requestID := core.NewID(s.clock.Now())
	_, err := s.queue.Request(context.Background(), s.business, "s1", []string{"b"}, requestID)
	require.NoError(t, err)
	_, waiting = s.status(requestID)
	require.Equal(t, []string{"b"}, waiting)

	pgtest.Exec(t, s.db, `UPDATE stores SET excluded_platforms = NULL, included_platforms = '{}' WHERE ref_id = 's1'`)
	unlisted := s.switchStore("s1", false, time.Time{})
	events, waiting = s.status(unlisted)
	require.Empty(t, slices.Concat(events, waiting), "no platform lists it, but the reference is known")

	for _, of := range []struct {
		business  core.BusinessID
		reference core.ID
	}{{hubtest.Business(t, s.db).ID, first}, {hubtest.Business(t, s.db).ID, unlisted},
		{s.business, core.NewID(s.clock.Now())}} {
		_, err := s.toggles.Status(context.Background(), of.business, of.reference)
		require.ErrorContains(t, err,
			`reference "`+of.reference.String()+`": there is no availability change with this reference`)
		require.Equal(t, core.NotFound, core.CodeOf(err))
	}
}
