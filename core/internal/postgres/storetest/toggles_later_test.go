package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/toggle"
)

// curry returns the availability of the curry at store s1.
func (s *switchHarness) curry() any {
	s.t.Helper()
	items := s.read("s1")["items"].([]any)
	require.Len(s.t, items, 1)
	return items[0].(map[string]any)["available"]
}

func TestOlderMenuRequestKeepsALaterSwitch(t *testing.T) {
	const on, off = `{"items":[{"ref_id":"curry","price":4,"available":true}]}`,
		`{"items":[{"ref_id":"curry","price":4,"available":false}]}`
	for name, c := range map[string]struct {
		before      []string // accepted in sequence before the switch, and run after it
		enable      bool
		after       string // accepted after the switch
		want        bool
		warns       string
		turnedOnAt  bool // the switch has a timer
		turnedOn    bool // the timer fires before the requests run
		thenOnAgain bool
	}{
		"it is switched off": {before: []string{on}, want: false,
			warns: "available has no effect on \"curry\": it was set to false after this request was accepted"},
		"it is switched on": {before: []string{off}, enable: true, want: true,
			warns: "it was switched to true"},
		"the request says the same":    {before: []string{off}, want: false},
		"the request does not name it": {before: []string{`{"items":[{"ref_id":"curry","price":4}]}`}, want: false},
		"it is removed and added again": {before: []string{`{"flush_items":true,"items":[]}`, on}, want: false,
			warns: "switched to false"},
		"without a warning": {before: []string{`{"flush_items":true,"items":[]}`,
			`{"items":[{"ref_id":"curry","price":4}]}`}, want: false},
		"a later request applies":        {after: on, want: true},
		"its time to be turned on stays": {before: []string{off}, turnedOnAt: true, want: false, thenOnAgain: true},
		"it was turned on in time already": {before: []string{off}, turnedOnAt: true, turnedOn: true, want: true,
			warns: "it was switched to true"},
		"a request that came between the two": {after: off, turnedOnAt: true, turnedOn: true, want: false},
		"one before it and one after": {before: []string{on}, after: on, want: true,
			warns: "switched to false"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSwitchHarness(t)
			s.switchItem("curry", !c.enable, time.Time{})
			s.clock.Advance(time.Second)
			var accepted []core.ID
			accept := func(body string) {
				accepted = append(accepted, s.enqueue(core.MenuJob, "s1", body, false))
				s.clock.Advance(time.Second)
			}
			for _, body := range c.before {
				accept(body)
			}
			until := time.Time{}
			if c.turnedOnAt {
				until = s.clock.Now().Add(10 * time.Minute)
			}
			s.switchItem("curry", c.enable, until)
			s.clock.Advance(time.Second)
			if c.after != "" {
				accept(c.after)
			}
			if c.turnedOn {
				s.clock.Advance(10 * time.Minute)
				s.turnOn()
			}
			require.NoError(t, s.runJobs())
			require.Equal(t, c.want, s.curry())
			callbacks := ""
			for _, reference := range accepted {
				callbacks += string(pgtest.EventBody(t, s.db, reference))
			}
			if c.warns == "" {
				require.NotContains(t, callbacks, "warnings")
			} else {
				require.Contains(t, callbacks, `"path":"items[0].available"`)
			}
			s.clock.Advance(10 * time.Minute)
			s.turnOn()
			require.Equal(t, c.want || c.thenOnAgain, s.curry())
		})
	}
}

func TestSwitchOutranksMenuRequestsAcceptedWhileItWaited(t *testing.T) {
	s := newSwitchHarness(t)
	hold, commit := pgtest.BeginOther(t, s.db)
	hold(`SELECT pg_advisory_xact_lock(hashtextextended('servery menu ' || ?, 0))`, int64(s.business))
	responded := make(chan error, 1)
	request := toggle.ItemRequest{LocationRefID: "s1", Items: []string{"curry"}, Action: toggle.Disable}
	reference := core.NewID(s.clock.Now())
	go func() {
		_, err := s.toggles.SwitchItems(context.Background(), s.business, request, reference, "key:pos")
		responded <- err
	}()
	eventually(t, "it waits", func() bool { return pgtest.MenuMutexWaiting(s.db, s.business) == 1 })
	s.clock.Advance(time.Second)
	meanwhile := s.enqueue(core.MenuJob, "s1", `{"items":[{"ref_id":"curry","price":4,"available":true}]}`, false)
	s.clock.Advance(time.Second)
	commit()
	require.NoError(t, <-responded)
	require.NoError(t, s.runJobs())
	require.Equal(t, false, s.curry())
	require.Contains(t, string(pgtest.EventBody(t, s.db, meanwhile)), `"path":"items[0].available"`)
}

func TestOlderMenuRequestKeepsALaterOptionSwitch(t *testing.T) {
	s := newSwitchHarness(t)
	reference := s.enqueue(core.MenuJob, "s1",
		`{"options":[{"ref_id":"egg","price":1},{"ref_id":"big","price":9,"available":true}]}`, false)
	s.clock.Advance(time.Second)
	_, err := s.toggles.SwitchItems(context.Background(), s.business,
		toggle.ItemRequest{LocationRefID: "s1", Options: []string{"big"}, Action: toggle.Disable},
		core.NewID(s.clock.Now()), "key:pos")
	require.NoError(t, err)
	require.NoError(t, s.runJobs())
	for _, option := range s.read("s1")["options"].([]any) {
		o := option.(map[string]any)
		require.Equal(t, map[string]any{"egg": true, "big": false}[o["ref_id"].(string)], o["available"])
	}
	require.Contains(t, string(pgtest.EventBody(t, s.db, reference)), `"path":"options[1].available"`)
}

func TestRollbackKeepsSwitchesMadeAfterItsAcceptance(t *testing.T) {
	s := newSwitchHarness(t)
	s.clock.Advance(time.Second)
	s.send("s1", `{"items":[{"ref_id":"curry","price":5}]}`)
	to := s.revisions(menu.RevisionFilter{})[0].ID
	s.clock.Advance(time.Second)
	s.send("s1", `{"items":[{"ref_id":"curry","price":42}]}`)
	s.clock.Advance(time.Second)
	s.enqueue(core.MenuJob, "-1", string(menu.RollbackBody(to)), false)
	s.clock.Advance(time.Second)
	s.switchItem("curry", false, s.clock.Now().Add(time.Hour))
	require.NoError(t, s.runJobs())
	require.Equal(t, false, s.curry())
	require.Equal(t, "5", fmt.Sprint(s.read("s1")["items"].([]any)[0].(map[string]any)["price"]))
	s.clock.Advance(time.Hour)
	s.turnOn()
	require.Equal(t, true, s.curry())
}

func TestRollbackKeepsLaterSwitchesOfEachStore(t *testing.T) {
	s := newSwitchHarness(t)
	s.store("s2")
	for store, body := range map[string]string{"s1": `{"items":[{"ref_id":"curry","price":4}]}`,
		"s2": `{"items":[{"ref_id":"curry","price":6},{"ref_id":"rice","title":"Rice","price":3}]}`} {
		s.clock.Advance(time.Second)
		s.send(store, body)
	}
	s.clock.Advance(time.Second)
	to := s.revisions(menu.RevisionFilter{})[0].ID
	s.enqueue(core.MenuJob, "-1", string(menu.RollbackBody(to)), false)
	s.clock.Advance(time.Second)
	for store, items := range map[string][]string{"s1": {"curry"}, "s2": {"curry", "rice"}} {
		_, err := s.toggles.SwitchItems(t.Context(), s.business, toggle.ItemRequest{LocationRefID: store, Items: items,
			Action: toggle.Disable}, core.NewID(s.clock.Now()), "key:pos")
		require.NoError(t, err)
	}
	require.NoError(t, s.runJobs())
	sold := func(store string) (list []string) {
		for _, one := range s.read(store)["items"].([]any) {
			item := one.(map[string]any)
			list = append(list, fmt.Sprint(item["ref_id"], " ", item["price"], " ", item["available"]))
		}
		slices.Sort(list)
		return list
	}
	require.Equal(t, []string{"curry 4 false"}, sold("s1"))
	require.Equal(t, []string{"curry 6 false", "rice 3 false"}, sold("s2"))
}

func TestRollbackRemovesTimersSetSinceTheRevision(t *testing.T) {
	for name, recorded := range map[string]bool{"with a recorded switch": true,
		"by an earlier release, without a record": false} {
		t.Run(name, func(t *testing.T) { rollBackTimers(t, recorded) })
	}
}

func rollBackTimers(t *testing.T, recorded bool) {
	t.Helper()
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	s := &switchHarness{publishHarness: &publishHarness{menuHarness: newMenuHarness(t, db, "US"), clock: clock},
		toggles: availability.New(db)}
	for store, item := range map[string]string{"s1": "curry", "s2": "rice"} {
		s.store(store)
		s.send(store, fmt.Sprintf(`{"items":[{"ref_id":%q,"title":"T","price":1}]}`, item))
	}
	in := func(d time.Duration) time.Time { return s.clock.Now().Add(d) }
	available := func(store string) string {
		return fmt.Sprint(s.read(store)["items"].([]any)[0].(map[string]any)["available"])
	}
	s.clock.Advance(time.Second)
	s.switchItem("curry", false, time.Time{})
	s.clock.Advance(time.Second)
	_, err := s.toggles.SwitchItems(context.Background(), s.business, toggle.ItemRequest{
		LocationRefID: "s2", Items: []string{"rice"}, Action: toggle.Disable, TurnOnAt: in(time.Hour)},
		core.NewID(s.clock.Now()), "key:pos")
	require.NoError(t, err)
	to := s.revisions(menu.RevisionFilter{})[0].ID
	s.clock.Advance(time.Second)
	s.switchItem("curry", true, time.Time{})
	s.switchItem("curry", false, in(5*time.Minute))
	s.send("s2", `{"items":[{"ref_id":"rice","price":42}]}`)
	if !recorded {
		pgtest.Exec(t, s.db, `DELETE FROM item_switches`)
	}
	s.rollBack(to)
	require.Equal(t, "false false", available("s1")+" "+available("s2"))
	next := s.turnOn()
	require.WithinDuration(t, in(time.Hour), next, 5*time.Second, "the earlier timers")
	s.clock.Advance(time.Hour)
	s.turnOn()
	require.Equal(t, "false true", available("s1")+" "+available("s2"))
}

func TestCategoryTimingsWaitForEarlierMenuRequests(t *testing.T) {
	s := newSwitchHarness(t)
	jobs := jobsdb.New(s.db)
	claim := func() []core.Job {
		t.Helper()
		claimed, _, err := jobs.Claim(context.Background(), core.ID{7}, 10, s.clock.Now().Add(time.Hour))
		require.NoError(t, err)
		return claimed
	}
	s.enqueue(core.MenuJob, "-1", `{"categories":[{"ref_id":"late","name":"Late"}]}`, false)
	s.enqueue(core.TimingJob, "",
		`{"timing_groups":[{"title":"Late","category_ref_ids":["late"],"day_slots":[{"day":"monday",`+
			`"slots":[{"start_time":"22:00","end_time":"23:00"}]}]}]}`, false)
	s.enqueue(core.StoreJob, "", `{"stores":[{"ref_id":"s9","name":"N","city":"C"}]}`, false)
	s.enqueue(core.MenuJob, "-1", `{"categories":[{"ref_id":"late","name":"Later"}]}`, false)
	first := claim()
	require.Len(t, first, 2, "of each line the first")
	require.Empty(t, claim())
	for _, kind := range []core.JobKind{core.TimingJob, core.MenuJob} {
		for _, work := range first {
			require.NoError(t, s.handlers()[work.Kind].Run(context.Background(), work, func(int, int) {}))
		}
		first = claim()
		require.Len(t, first, 1)
		require.Equal(t, kind, first[0].Kind)
	}
	require.Equal(t, []string{"late"}, s.timings()[0].CategoryRefIDs)
}
