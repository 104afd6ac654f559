package toggle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/toggle"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestSwitchRequestsAcceptRealClientForms(t *testing.T) {
	r, err :=
		toggle.DecodeStore([]byte(`{"location_ref_id":"S-1","platforms":["a","","b","a"],"action":"disable",`+
			`"turn_on_at":null,"reason":"?"}`), noon)
	require.NoError(t, err)
	require.Equal(t, toggle.StoreRequest{LocationRefID: "S-1", Platforms: []string{"a", "b"}, Action: toggle.Disable},
		r)
	r, err = toggle.DecodeStore([]byte(`{"location_ref_id":"S-1","platforms":null,"action":"publish"}`), noon)
	require.NoError(t, err)
	require.Equal(t, toggle.StoreRequest{LocationRefID: "S-1", Platforms: []string{}, Action: toggle.Publish}, r)
	items, err :=
		toggle.DecodeItems([]byte(`{"location_ref_id":"S-1","item_ref_ids":["i"," ","j","i"],"option_ref_ids":[""],`+
			`"action":"enable"}`), noon)
	require.NoError(t, err)
	require.Equal(t, toggle.ItemRequest{LocationRefID: "S-1", Items: []string{"i", "j"}, Options: []string{},
		Action: toggle.Enable}, items)

	items, err =
		toggle.DecodeItems([]byte(`{"location_ref_id":17,"item_ref_ids":[null,5,"i"],"option_ref_ids":[null],`+
			`"action":"disable"}`), noon)
	require.NoError(t, err)
	require.Equal(t, toggle.ItemRequest{LocationRefID: "17", Items: []string{"5", "i"}, Options: []string{},
		Action: toggle.Disable}, items)
}

func TestTurnOnTimeAcceptsEveryNotation(t *testing.T) {
	inTime, past := noon.Add(time.Hour).UnixMilli(), noon.Add(-time.Hour).UnixMilli()
	for sent, at := range map[string]time.Time{
		"null": {}, "0": {}, `""`: {}, `"0"`: {}, "0.0": {},
		fmt.Sprint(inTime): noon.Add(time.Hour), fmt.Sprintf("%d.0", inTime): noon.Add(time.Hour),
		fmt.Sprintf(`"%d"`, inTime):    noon.Add(time.Hour),
		fmt.Sprintf(`"%d.00"`, inTime): noon.Add(time.Hour), fmt.Sprintf("%de3", inTime/1000): noon.Add(time.Hour),
	} {
		r, err := toggle.DecodeStore(fmt.Appendf(nil,
			`{"location_ref_id":"S","platforms":["a",null],"action":"disable","turn_on_at":%s}`, sent), noon)
		require.NoError(t, err, sent)
		require.Equal(t, []string{"a"}, r.Platforms)
		require.True(t, at.Equal(r.TurnOnAt), "%s: %s", sent, r.TurnOnAt)
	}
	for _, action := range []string{"enable", "publish"} { // these ignore turn_on_at
		r, err := toggle.DecodeStore(fmt.Appendf(nil, `{"location_ref_id":"S","action":%q,"turn_on_at":%d}`, action,
			past), noon)
		require.NoError(t, err, action)
		require.Zero(t, r.TurnOnAt)
	}
}

func TestInvalidSwitchRequestErrorsNameTheProblem(t *testing.T) {
	const oneOfActions = "action must be one of: enable, disable, publish, busy, normal"
	tooSoon, inTime := noon.Add(time.Minute).UnixMilli(), noon.Add(time.Hour).UnixMilli()
	for body, wrong := range map[string]string{
		`{"action":"disable"}`:                                          "location_ref_id is required",
		`{"location_ref_id":"S-1","action":"close"}`:                    oneOfActions,
		`{"location_ref_id":"S-1"}`:                                     oneOfActions,
		`{"location_ref_id":"S-1","action":"enable","platforms":[""]}`:  "platforms must name a platform",
		`{"location_ref_id":"S-1","action":"enable","platforms":"web"}`: "platforms must be",
		fmt.Sprintf(`{"location_ref_id":"S","action":"disable","turn_on_at":%d.5}`,
			inTime): "turn_on_at must be a positive whole number",
		fmt.Sprintf(`{"location_ref_id":"S","action":"disable","turn_on_at":-%d}`,
			inTime): "turn_on_at must be a positive whole number",
		`{"location_ref_id":{},"action":"enable"}`: "location_ref_id must " +
			"be a string or a whole number",
		`{"location_ref_id":"S-1","action":"enable","platforms":["a",{}]}`: "platforms[1] must be a " +
			"string or a whole number",
		`{"location_ref_id":"S-1","action":"enable","platforms":[null,1.5]}`: "platforms[1] must be a " +
			"string or a whole number",
		fmt.Sprintf(`{"location_ref_id":"S","action":"disable","turn_on_at":%d}`,
			tooSoon): "turn_on_at must be between",
		`{"location_ref_id":"S","action":"disable","turn_on_at":"soon"}`: "turn_on_at must be",
	} {
		_, err := toggle.DecodeStore([]byte(body), noon)
		require.ErrorContains(t, err, wrong, body)
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
	for body, wrong := range map[string]string{
		`{"location_ref_id":"S-1","action":"enable"}`: "item_ref_ids or option_ref_ids must have at least one",
		`{"location_ref_id":"S-1","action":"enable","item_ref_ids":[null,""]}`: "item_ref_ids or option_ref_ids must " +
			"have at least one",
		`{"location_ref_id":"S-1","action":"publish","item_ref_ids":["i"]}`: "action must be one of: enable, disable",
		`{"location_ref_id":"S-1","action":"enable","item_ref_ids":[` + many(2001) +
			`]}`: "item_ref_ids must have at most 2000 elements, not 2001",
		`{"location_ref_id":"S-1","action":"enable","option_ref_ids":[` + many(10_001) +
			`]}`: "option_ref_ids must have at most 10000 elements",
	} {
		_, err := toggle.DecodeItems([]byte(body), noon)
		require.ErrorContains(t, err, wrong)
	}
}

func many(n int) (list string) {
	for i := range n {
		list += fmt.Sprintf(`"%d",`, i)
	}
	return list[:len(list)-1]
}

func TestTurnOnTimeIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ahead := rapid.Int64Range(-int64(time.Hour), int64(40*24*time.Hour)).Draw(t, "ahead")
		at := noon.Add(time.Duration(ahead)).Truncate(time.Millisecond)
		r, err := toggle.DecodeStore(fmt.Appendf(nil, `{"location_ref_id":"S","action":"disable","turn_on_at":%d}`,
			at.UnixMilli()), noon)
		within := !at.Before(noon.Add(5*time.Minute)) && !at.After(noon.Add(30*24*time.Hour))
		require.Equal(t, within, err == nil)
		require.True(t, err != nil || r.TurnOnAt.Equal(at))
	})
}

func TestSwitchEventsMatchTheirSchemas(t *testing.T) {
	o := toggle.Outcome{At: noon, Done: true,
		Switch: toggle.Switch{Business: 1, StoreID: 1040, StoreRef: "S-17", Platform: "tasty",
			Source: toggle.SourceTimer, Enable: true, Reference: core.NewID(noon)}}
	results := []core.AvailabilityResult{{ID: 7, RefID: "latte"},
		{RefID: "nothing", Reason: "there is no item with this ref_id"}}
	for _, done := range []bool{true, false} {
		o.Done, o.Message = done, ""
		if !done {
			o.Message = "the aggregator responded with 500"
		}
		store, err := o.StoreEvent()
		require.NoError(t, err)
		eventtest.Check(t, core.StoreAction, store.Body)
		require.Contains(t, string(store.Body), fmt.Sprintf(`"status":%t`, done))
		events, err := o.ItemEvents(results, results)
		require.NoError(t, err)
		eventtest.Check(t, core.ItemStateToggle, events[0].Body)
		eventtest.Check(t, core.OptionStateToggle, events[1].Body)
		first := map[bool]string{true: `"status":"success"}`,
			false: `"status":"error","message":"the aggregator responded with 500"}`}[done]
		require.Contains(t, string(events[0].Body), `{"id":7,"ref_id":"latte",`+first)
		require.Contains(t, string(events[0].Body),
			`{"id":0,"ref_id":"nothing","status":"error","message":"there is no item with this ref_id"}`)
		require.Contains(t, string(events[1].Body), fmt.Sprintf(`{"id":7,"ref_id":"latte","success":%t`, done))
		require.Equal(t, o.Reference.String(), events[1].Reference)
	}
	none, err := o.ItemEvents(nil, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// memoryStorage is a TimerStorage in memory. It holds only due times.
type memoryStorage struct {
	clock   core.Clock
	mu      sync.Mutex
	due     []time.Time
	enabled int
	fails   int  // how many calls fail
	broken  bool // a business fails in every call
}

func (s *memoryStorage) EnableDue(_ context.Context, limit int) (n int, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return 0, next, errors.New("the database is unavailable")
	}
	var left []time.Time
	for _, at := range s.due {
		if n < limit && !at.After(s.clock.Now()) {
			n, s.enabled = n+1, s.enabled+1
			continue
		}
		if left = append(left, at); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	s.due = left
	if s.broken {
		err = errors.New("a business is broken")
	}
	return n, next, err
}

func (s *memoryStorage) hasEnabled(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled == n
}

// observedClock sends the times for which a timer is set.
type observedClock struct {
	*clocktest.Clock
	set chan time.Time
}

func (c observedClock) At(at time.Time) (<-chan time.Time, func()) {
	fired, stop := c.Clock.At(at)
	c.set <- at
	return fired, stop
}

func TestTimerEnablesInBatchesDespiteFailures(t *testing.T) {
	clock := observedClock{clocktest.New(), make(chan time.Time, 9)}
	poll := clock.Now().Add(30 * time.Second)
	early, late := poll.Add(300*time.Millisecond), poll.Add(800*time.Millisecond)
	s := &memoryStorage{clock: clock, fails: 1}
	for n := range 1001 {
		s.due = append(s.due, []time.Time{early, late}[n%2])
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		toggle.Timer{Storage: s, Clock: clock, Log: slog.New(slog.DiscardHandler)}.Run(ctx)
	}()
	require.Equal(t, poll, <-clock.set, "the first call has failed")
	clock.Advance(30 * time.Second)
	require.Equal(t, early, <-clock.set)
	clock.Advance(300 * time.Millisecond)
	require.Equal(t, late, <-clock.set)
	require.True(t, s.hasEnabled(501), "more than a batch")
	clock.Advance(500 * time.Millisecond)
	require.Equal(t, late.Add(30*time.Second), <-clock.set)
	require.True(t, s.hasEnabled(1001))
	cancel()
	<-ended
}

func TestFailingBusinessDoesNotDelayTheTimer(t *testing.T) {
	clock := observedClock{clocktest.New(), make(chan time.Time, 9)}
	due := clock.Now().Add(5 * time.Second)
	s := &memoryStorage{clock: clock, broken: true}
	for range 1001 {
		s.due = append(s.due, due)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		toggle.Timer{Storage: s, Clock: clock, Log: slog.New(slog.DiscardHandler)}.Run(ctx)
	}()
	require.Equal(t, due, <-clock.set)
	clock.Advance(5 * time.Second)
	require.Equal(t, due.Add(30*time.Second), <-clock.set, "the broken business is tried again later")
	require.True(t, s.hasEnabled(1001), "in batches without a pause")
	cancel()
	<-ended
}

func TestSwitchOfAnUnlistedStoreWarns(t *testing.T) {
	all, some := toggle.StoreRequest{}, toggle.StoreRequest{Platforms: []string{"zomato", "web"}}
	require.Nil(t, all.UnlistedWarnings(nil, []string{"web"}))
	require.Nil(t, some.UnlistedWarnings([]string{"a", "web"}, []string{"a", "web", "app"}))
	require.Equal(t, []core.Warning{{Path: "location_ref_id",
		Message: "the store is listed on no platform, so nothing " +
			"was switched; list it with excluded_platforms or included_platforms, then send this again"}},
		all.UnlistedWarnings(nil, nil))
	require.Equal(t, []core.Warning{{Path: "location_ref_id",
		Message: "the store is listed on no platform; the change " +
			"counts once it is listed there, with excluded_platforms or included_platforms"}},
		some.UnlistedWarnings([]string{"a", "web"}, nil))
	require.Equal(t, []core.Warning{{Path: "platforms", Message: `the store is not listed on "zomato"; the change ` +
		"counts once it is listed there"}}, some.UnlistedWarnings([]string{"a", "web"}, []string{"web"}),
		"named as it was sent")
	require.Nil(t, toggle.ItemRequest{}.UnlistedWarnings(1))
	require.Len(t, toggle.ItemRequest{}.UnlistedWarnings(0), 1)
}
