package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	callsdb "github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/internal/postgres/tasks"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/presence"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// switchHarness is a publishHarness that switches stores, items and options.
type switchHarness struct {
	*publishHarness
	toggles availability.Store
	calls   callsdb.Store
}

func newSwitchHarness(t *testing.T) *switchHarness {
	t.Helper()
	p := newPublishHarness(t)
	return &switchHarness{publishHarness: p, toggles: availability.New(p.db), calls: callsOf(p.db)}
}

func (s *switchHarness) switchStore(store string, enable bool, until time.Time, platforms ...string) core.ID {
	s.t.Helper()
	r := toggle.StoreRequest{LocationRefID: store, Platforms: platforms, Action: toggle.Disable, TurnOnAt: until}
	if enable {
		r.Action = toggle.Enable
	}
	reference := core.NewID(s.clock.Now())
	_, err := s.toggles.SwitchStore(context.Background(), s.business, r, reference, "key:pos")
	require.NoError(s.t, err)
	return reference
}

func (s *switchHarness) switchItem(item string, enable bool, until time.Time) {
	s.t.Helper()
	r := toggle.ItemRequest{LocationRefID: "s1", Items: []string{item}, Action: toggle.Disable, TurnOnAt: until}
	if enable {
		r.Action = toggle.Enable
	}
	_, err := s.toggles.SwitchItems(context.Background(), s.business, r, core.NewID(s.clock.Now()), "key:pos")
	require.NoError(s.t, err)
}

// closed returns the platforms on which a store is closed.
func (s *switchHarness) closed(store string) (platforms []string) {
	s.t.Helper()
	stored, err := stores.New(s.db).Get(context.Background(), s.business, store)
	require.NoError(s.t, err)
	for _, closing := range stored.ClosedOn {
		platforms = append(platforms, closing.Platform)
	}
	return platforms
}

// claimed returns the calls that a replica claims, one per store and platform.
func (s *switchHarness) claimed(owner core.ID) []relay.Call {
	s.t.Helper()
	batch, err := s.calls.Claim(context.Background(), owner, queue.Capacity{Items: 100, OtherKeys: 100},
		s.clock.Now().Add(time.Minute))
	require.NoError(s.t, err)
	calls := batch.Items
	slices.SortFunc(calls, func(a, b relay.Call) int {
		return slices.Compare([]byte(a.OrderingKey),
			[]byte(b.OrderingKey))
	})
	return calls
}

func (s *switchHarness) finish(owner core.ID, c relay.Call, state relay.State) {
	s.t.Helper()
	require.NoError(s.t, s.calls.Finish(context.Background(), owner,
		[]relay.Result{{Call: c, State: state, Message: "so", FinishedAt: s.clock.Now()}}))
}

func TestStoreSwitchesAreSentInOrder(t *testing.T) {
	s := newSwitchHarness(t)
	for n := range 4 {
		s.switchStore("s1", n%2 == 1, time.Time{}, "a")
	}
	s.switchItem("curry", false, time.Time{})
	owner := core.NewID(s.clock.Now())
	var order []string
	for range 5 {
		calls := s.claimed(owner)
		at := slices.IndexFunc(calls, func(c relay.Call) bool { return c.Platform == "a" })
		require.GreaterOrEqual(t, at, 0)
		require.Empty(t, s.claimed(core.NewID(s.clock.Now())), "later calls wait for the running one")
		var p relay.ItemActionPayload
		require.NoError(t, json.Unmarshal(calls[at].Payload, &p))
		order = append(order, fmt.Sprintf("%s %t", calls[at].Kind, p.Enable))
		require.Equal(t, "s1", p.StoreRefID)
		for _, kind := range []relay.Kind{relay.StoreAction, relay.ItemAction} {
			sending, err := tasks.Sending(t.Context(), s.db, s.business, "a",
				outcome.Report{Kind: string(kind), StoreRefID: "s1"})
			require.NoError(t, err)
			require.Equal(t, kind == calls[at].Kind, sending)
		}
		for _, c := range calls {
			s.finish(owner, c, relay.Done)
		}
	}
	require.Equal(t, []string{"store_action false", "store_action true", "store_action false", "store_action true",
		"item_action false"}, order)
	require.Empty(t, s.claimed(owner))
}

// TestConcurrentWorkersReenableEachItemOnce runs timers on concurrent replicas, some of them
// interrupted. Each item must be enabled once and reported once.
func TestConcurrentWorkersReenableEachItemOnce(t *testing.T) {
	s := newSwitchHarness(t)
	sink := hubtest.NewEventSink(t, nil)
	for _, event := range []core.EventType{core.StoreAction, core.ItemStateToggle} {
		hubtest.SubscribeSeconds(t, s.db, s.business, event, sink.URL)
	}
	until := s.clock.Now().Add(10 * time.Minute)
	for _, store := range []string{"s1", "s2"} {
		s.switchStore(store, false, until)
	}
	s.switchItem("curry", false, until)
	require.Equal(t, []string{"a", "app", "b", "web"}, s.closed("s1"))
	before := s.events()
	turned, _, err := s.toggles.EnableDue(context.Background(), 100)
	require.NoError(t, err)
	require.Zero(t, turned, "nothing is due")
	s.clock.Advance(10 * time.Minute)
	var total atomic.Int64
	var working sync.WaitGroup
	for n := range 6 {
		working.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if n%2 == 0 { // interrupted at a random point
				time.AfterFunc(time.Duration(n)*time.Millisecond, cancel)
			}
			for range 20 {
				turned, _, err := s.toggles.EnableDue(ctx, 3)
				if err != nil {
					return
				}
				total.Add(int64(turned))
			}
		})
	}
	working.Wait()
	_, next, err := s.toggles.EnableDue(context.Background(), 100)
	require.NoError(t, err)
	require.Zero(t, next, "nothing is pending anymore")
	require.Empty(t, s.closed("s1"))
	require.Empty(t, s.closed("s2"))
	require.Equal(t, before+2*2+2, s.events(), "of each store and of the item, on each own platform")
	require.Contains(t, fmt.Sprint(s.read("s1")), "available:true")
}

// events counts the events of switches.
func (s *switchHarness) events() (n int) {
	s.t.Helper()
	pgtest.Row(s.t, s.db, &n,
		`SELECT count(*) FROM events WHERE business_id = ? AND event_type IN ('store_action', 'item_state_toggle')`,
		s.business)
	return n
}

// turnOn turns on what is due and returns the next due time.
func (s *switchHarness) turnOn() time.Time {
	s.t.Helper()
	for {
		turned, next, err := s.toggles.EnableDue(context.Background(), 100)
		require.NoError(s.t, err)
		if turned == 0 {
			return next
		}
	}
}

func TestLaterSwitchReplacesTheReopeningTime(t *testing.T) {
	s := newSwitchHarness(t)
	soon, later := s.clock.Now().Add(10*time.Minute), s.clock.Now().Add(time.Hour)
	s.switchStore("s1", false, soon)
	s.switchStore("s1", false, later, "web")
	s.switchStore("s1", false, time.Time{}, "app")
	s.switchItem("curry", false, soon)
	s.switchItem("curry", false, time.Time{})
	s.clock.Advance(10 * time.Minute)
	next := s.turnOn()
	require.WithinDuration(t, later, next, time.Millisecond)
	require.Equal(t, []string{"app", "web"}, s.closed("s1"))
	s.clock.Advance(time.Hour)
	require.Zero(t, s.turnOn())
	require.Equal(t, []string{"app"}, s.closed("s1"))
}

func TestFailingBusinessDoesNotBlockReenablingOthers(t *testing.T) {
	s := newSwitchHarness(t)
	until := s.clock.Now().Add(10 * time.Minute)
	broken := &switchHarness{publishHarness: &publishHarness{menuHarness: newMenuHarness(t, s.db, "US"),
		clock: s.clock, queue: s.queue},
		toggles: s.toggles, calls: s.calls}
	broken.store("s1")
	broken.send("s1", `{"items":[{"ref_id":"curry","title":"Curry","price":1}]}`)
	for _, of := range []*switchHarness{broken, s} {
		of.switchStore("s1", false, until)
		of.switchItem("curry", false, until)
	}
	pgtest.Exec(t, s.db, fmt.Sprintf(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF new.business_id = %d THEN RAISE EXCEPTION 'broken'; END IF; RETURN new; END $$`, broken.business))
	pgtest.Exec(t, s.db, `CREATE TRIGGER broken BEFORE UPDATE ON store_switches FOR EACH ROW EXECUTE FUNCTION broken()`)
	pgtest.Exec(t, s.db,
		`CREATE TRIGGER broken BEFORE INSERT OR UPDATE ON store_overrides FOR EACH ROW EXECUTE FUNCTION broken()`)
	s.clock.Advance(10 * time.Minute)
	turned, _, err := s.toggles.EnableDue(context.Background(), 1)
	require.ErrorContains(t, err, "broken")
	require.Equal(t, 2, turned, "a platform of a store, and an item, of the other business")
	for range 3 {
		_, _, err = s.toggles.EnableDue(context.Background(), 1)
		require.Error(t, err)
	}
	require.Empty(t, s.closed("s1"))
	require.NotEmpty(t, broken.closed("s1"))
	available :=
		func(of *switchHarness) bool {
			return of.read("s1")["items"].([]any)[0].(map[string]any)["available"].(bool)
		}
	require.Equal(t, []bool{true, false}, []bool{available(s), available(broken)})
	later := s.clock.Now().Add(time.Minute)
	s.switchStore("s1", false, later, "a")
	turned, next, err := s.toggles.EnableDue(context.Background(), 1)
	require.ErrorContains(t, err, "broken")
	require.Zero(t, turned)
	require.WithinDuration(t, later, next, time.Millisecond, "of the other business")
}

func TestMenuAvailabilityReplacesTheReenableTimer(t *testing.T) {
	for name, c := range map[string]struct {
		location, body string
		turnedOn       bool
	}{
		"the store makes it unavailable": {"s1", `{"items":[{"ref_id":"curry","price":1,"available":false}]}`,
			false},
		"the store says something else": {"s1", `{"items":[{"ref_id":"curry","price":2}]}`, true},
		"the master says so":            {"-1", `{"items":[{"ref_id":"curry","price":1,"available":false}]}`, true},
		"another store says so":         {"s2", `{"items":[{"ref_id":"curry","price":1,"available":false}]}`, true},
		"an object that fails": {"s1", `{"categories":[{"ref_id":"P","name":"p"},{"ref_id":"C","name":"c",` +
			`"parent_ref_id":"P"}],"items":[{"ref_id":"curry","price":1,"available":false,"category_ref_ids":["P"]}]}`,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSwitchHarness(t)
			s.switchItem("curry", false, s.clock.Now().Add(10*time.Minute))
			s.send(c.location, c.body)
			s.clock.Advance(10 * time.Minute)
			s.turnOn()
			read := s.read("s1")["items"].([]any)[0].(map[string]any)
			require.Equal(t, c.turnedOn, read["available"])
		})
	}
}

func TestSilentPOSReopensOnlyWhatItClosed(t *testing.T) {
	s := newSwitchHarness(t)
	setClosed := func(closed bool) {
		require.NoError(t, availability.NewPresence(s.db).SetClosed(context.Background(),
			presence.Store{Business: s.business, ID: s.storeID("s1")}, closed, "the POS has been silent"))
	}
	pgtest.Exec(t, s.db,
		`INSERT INTO pos_presence (business_id, store_id, seen_at, silent_since) VALUES (?, ?, now(), now())`,
		s.business, s.storeID("s1"))
	s.switchStore("s1", false, time.Time{}, "web")
	setClosed(true)
	require.Equal(t, []string{"a", "app", "b", "web"}, s.closed("s1"))
	s.switchStore("s1", false, time.Time{}, "b") // at the merchant's request
	setClosed(true)                              // is already closed
	setClosed(false)
	require.Equal(t, []string{"b", "web"}, s.closed("s1"))
}

func (s *switchHarness) storeID(ref string) (id int64) {
	s.t.Helper()
	pgtest.Row(s.t, s.db, &id, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, s.business, ref)
	return id
}

// TestUncertainSwitchRepublishesTheMenu checks that the menu is republished if the call failed
// or overlapped with a publication.
func TestUncertainSwitchRepublishesTheMenu(t *testing.T) {
	owner := core.ID{1}
	for name, c := range map[string]struct {
		state   relay.State
		overlap bool // a publication is claimed before the switch and ends before its call
		again   bool
	}{
		"done, without a concurrent publication": {relay.Done, false, false},
		"done during a publication":              {relay.Done, true, true},
		"failed":                                 {relay.Failed, false, true},
		"no plugin sends it":                     {relay.Skipped, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSwitchHarness(t)
			s.clock.Advance(time.Minute) // after the menus were published
			var under []publishing.Work
			if c.overlap {
				pgtest.Exec(t, s.db,
					`UPDATE publications SET available_at = ? WHERE business_id = ? AND platform = 'a'`, s.clock.Now(),
					s.business)
				under, _ = s.publishHarness.claim(owner)
				require.NotEmpty(t, under)
			}
			s.switchStore("s1", false, time.Time{}, "a")
			for _, w := range under {
				s.publishHarness.finish(owner, s.published(w))
			}
			calls := s.claimed(owner)
			require.Len(t, calls, 1)
			s.finish(owner, calls[0], c.state)
			s.clock.Advance(time.Minute)
			work, names := s.publishHarness.claim(core.ID{2})
			if !c.again {
				require.Empty(t, names)
				return
			}
			require.Equal(t, []string{"s1/a"}, names)
			require.Nil(t, work[0].Digest, "the state of the platform is unknown")
		})
	}
}

func TestSwitchWaitsForARunningMenuRequest(t *testing.T) {
	s := newSwitchHarness(t)
	var running sync.WaitGroup
	for n := range 20 {
		running.Go(func() { s.switchItem("curry", n%2 == 0, time.Time{}) })
	}
	for n := range 10 { // each changes the price and must not undo a concurrent switch
		s.send("s1", fmt.Sprintf(`{"items":[{"ref_id":"curry","price":%d}]}`, n+2))
	}
	running.Wait()
	s.switchItem("curry", false, time.Time{})
	s.send("s1", `{"items":[{"ref_id":"curry","price":42}]}`)
	read := s.read("s1")["items"].([]any)[0].(map[string]any)
	require.Equal(t, "42 false", fmt.Sprint(read["price"], " ", read["available"]))
}
