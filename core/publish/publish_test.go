package publish

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/retry"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestDebounceWaitsForQuietUpToALimit(t *testing.T) {
	d := Debounce{}.OrDefault()
	for _, c := range []struct{ latest, due time.Duration }{
		{0, 2 * time.Second}, {time.Second, 3 * time.Second}, {13 * time.Second, 15 * time.Second},
		{14 * time.Second, 15 * time.Second}, {20 * time.Second, 15 * time.Second},
	} {
		require.Equal(t, noon.Add(c.due), d.Due(noon, noon.Add(c.latest)))
	}
	require.Equal(t, Debounce{Quiet: time.Minute, Max: time.Hour},
		Debounce{Quiet: time.Minute, Max: time.Hour}.OrDefault())
}

func TestDebounceStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Debounce{Quiet: time.Duration(rapid.IntRange(1, 100).Draw(t, "quiet")),
			Max: time.Duration(rapid.IntRange(1, 1000).Draw(t, "most"))}
		latest, last := noon, noon
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			latest = latest.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "pause")))
			due := d.Due(noon, latest)
			require.False(t, due.Before(last), "a change never makes it earlier")
			require.False(t, due.After(noon.Add(d.Max)))
			require.True(t, !due.Before(latest.Add(d.Quiet)) || due.Equal(noon.Add(d.Max)))
			last = due
		}
	})
}

func TestDigestDependsOnContentNotKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}`), 0, 4)
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		require.Equal(t, len(a) == len(b) && func() bool {
			for i := range a {
				if a[i] != b[i] {
					return false
				}
			}
			return true
		}(), string(digest(core.ID{1}, a)) == string(digest(core.ID{2}, b)))
	})
	one, other := core.NewID(noon), core.NewID(noon.Add(time.Hour))
	require.Equal(t, digest(one, []string{"key " + one.String()}), digest(other, []string{"key " + other.String()}))
	require.NotEqual(t, digest(one, []string{other.String()}), digest(other, []string{other.String()}))
}

var burger = Problem{Entity: "item", RefID: "burger", Code: "nutrition_fat", Message: "fat is missing"}

func TestRenderingDecidesWhetherToSend(t *testing.T) {
	ref, asker := core.ID{1}, core.ID{2}
	work := Work{Reference: ref, Digest: digest(core.ID{}, []string{"a"})}
	asked := work
	asked.ExplicitRequests = []core.ID{asker}
	for name, c := range map[string]struct {
		work      Work
		rendering Rendering
		state     State
		send      bool
	}{
		"content that is new":                {work, Rendering{Content: []string{"b"}}, Published, true},
		"content that the platform holds":    {work, Rendering{Content: []string{"a"}}, Published, false},
		"the same, but explicitly requested": {asked, Rendering{Content: []string{"a"}}, Published, true},
		"unknown content":                    {Work{}, Rendering{Content: []string{"a"}}, Published, true},
		"a store that is not listed":         {work, Rendering{Unlisted: "not listed"}, Unlisted, false},
		"one that is to be taken off": {work, Rendering{Unlisted: "not listed", Content: []string{"off"}},
			Unlisted, true},
		"one that was taken off already": {work, Rendering{Unlisted: "not listed", Content: []string{"a"}}, Unlisted,
			false},
		"a plugin that has nothing to say": {work, Rendering{Skip: "no menus"}, Skipped, false},
	} {
		result, send := renderResult(c.work, c.rendering, noon)
		require.Equal(t, []any{c.state, c.send}, []any{result.State, send}, name)
		require.Equal(t, len(c.rendering.Content) > 0 && !c.send, result.Unchanged, name)
		require.Equal(t, len(c.rendering.Content) > 0, result.Digest != nil, name)
	}
}

func TestDigestIsKeptOnlyAfterPublication(t *testing.T) {
	result, _ := renderResult(Work{Digest: []byte("old")}, Rendering{Content: []string{"new"}, Note: "closed"}, noon)
	require.NotNil(t, finalResult(result, SendResult{State: Published}, noon).Digest)
	require.Equal(t, "closed", finalResult(result, SendResult{State: Published}, noon).Message)
	for _, state := range []State{Failed, Waiting} {
		require.Nil(t, finalResult(result, SendResult{State: state, Message: "timeout"}, noon).Digest)
	}
}

func TestStoreIsUnlistedOnceThePlatformAccepts(t *testing.T) {
	result, send := renderResult(Work{}, Rendering{Unlisted: "taken off", Content: []string{"off"}}, noon)
	require.True(t, send)
	off := finalResult(result, SendResult{State: Published, Message: "thanks"}, noon)
	require.Equal(t, []any{Unlisted, "taken off"}, []any{off.State, off.Message})
	require.NotNil(t, off.Digest)
	for _, state := range []State{Failed, Waiting} {
		kept := finalResult(result, SendResult{State: state, Message: "503"}, noon)
		require.Equal(t, []any{state, "503"}, []any{kept.State, kept.Message})
		require.Nil(t, kept.Digest)
	}
}

func TestRenderingErrorsDecideTheResult(t *testing.T) {
	for _, c := range []struct {
		err   error
		state State
		waits bool
	}{
		{core.Errorf(core.Invalid, "no"), Failed, false}, {core.Errorf(core.NotFound, "no"), Skipped, false},
		{core.Errorf(core.Unavailable, "down"), Waiting, true},
		{errors.New("the database is unavailable"), Waiting, true},
		{core.Errorf(core.Internal, "it fails at this menu"), Waiting, false},
	} {
		r := renderFailure(Work{}, c.err, noon)
		require.Equal(t, []any{c.state, c.waits}, []any{r.State, r.Uncounted})
	}
}

func TestFailedRenderingIsRetriedThenFails(t *testing.T) {
	fault := core.Errorf(core.Internal, "plugin a: its answer was refused")
	waits := retry.Default(time.Second).Waits()
	for attempts, wait := range waits {
		r := renderFailure(Work{Attempts: attempts}, fault, noon)
		require.Equal(t, []any{Waiting, false, noon.Add(wait)}, []any{r.State, r.Uncounted, r.RetryAt})
	}
	r := renderFailure(Work{Attempts: len(waits), Digest: []byte("held")}, fault, noon)
	require.Equal(t, []any{Failed, fault.Error(), []byte("held")}, []any{r.State, r.Message, r.Digest},
		"nothing was sent: what the platform holds is known")
}

func TestOutcomesAreReportedPerRequest(t *testing.T) {
	first, second, change, later := core.NewID(noon), core.NewID(noon), core.NewID(noon), core.NewID(noon)
	asked, waiting := []core.ID{first, second}, []core.ID{change, later}
	for _, c := range []struct {
		result   Result
		reported []string
		status   string
	}{
		// no request led to it
		{Result{State: Published, Work: Work{Reference: later}}, []string{later.String()}, "success"},
		{Result{State: Published, Work: Work{Reference: later, PendingRequests: waiting[:1]}},
			[]string{change.String()},
			"success"},
		{Result{State: Published, Work: Work{PendingRequests: waiting}}, []string{change.String(), later.String()},
			"success"},
		{Result{State: Published, Work: Work{ExplicitRequests: asked}}, []string{first.String(), second.String()},
			"success"},
		{Result{State: Published, Work: Work{ExplicitRequests: asked[:1], PendingRequests: waiting[:1]}},
			[]string{first.String(), change.String()}, "success"},
		{Result{State: Published, Unchanged: true, Work: Work{PendingRequests: waiting}}, nil, ""},
		{Result{State: Failed, Message: "503", Work: Work{PendingRequests: waiting[:1]}}, []string{change.String()},
			"error"},
		{Result{State: Unlisted, Message: "not listed", Work: Work{PendingRequests: waiting}}, nil, ""},
		{Result{State: Unlisted, Message: "not listed", Work: Work{ExplicitRequests: asked[:1]}},
			[]string{first.String()},
			"error"},
		{Result{State: Unlisted, Message: "taken off", Digest: []byte("off"), Work: Work{PendingRequests: waiting}},
			[]string{change.String(), later.String()}, "success"},
		{Result{State: Unlisted, Message: "taken off", Digest: []byte("off"), Unchanged: true,
			Work: Work{PendingRequests: waiting}}, nil, ""},
		{Result{State: Unlisted, Message: "taken off", Digest: []byte("off"), Work: Work{ExplicitRequests: asked}},
			[]string{first.String(), second.String()}, "error"},
		{Result{State: Skipped, Message: "no menus", Work: Work{ExplicitRequests: asked[:1]}},
			[]string{first.String()}, "error"},
		{Result{State: Waiting, Work: Work{ExplicitRequests: asked}}, nil, ""},
	} {
		c.result.StoreRef, c.result.Platform, c.result.EventPlatform, c.result.At = "s1", "tasty", "eats", noon
		c.result.Omitted, c.result.Problems = []Problem{burger}, []Problem{{RefID: "x"}}
		events, err := c.result.Events()
		require.NoError(t, err)
		require.Len(t, events, len(c.reported))
		for i, event := range events {
			eventtest.Check(t, core.HubMenuPublish, event.Body)
			require.Contains(t, string(event.Body), `"status":"`+c.status+`"`)
			require.Contains(t, string(event.Body), `"platform":"eats"`, "by the alias that is sent")
			require.Contains(t, string(event.Body), c.reported[i])
			require.Equal(t, c.reported[i], event.Reference)
		}
	}
}

func TestSnoozedRenderingHasNoResult(t *testing.T) {
	r := renderFailure(Work{}, core.Snooze{Until: noon.Add(time.Minute)}, noon)
	require.Equal(t, []any{leftToPeer, noon.Add(time.Minute)}, []any{r.State, r.RetryAt})
}

func TestProblemListIsBoundedWithACount(t *testing.T) {
	many := make([]Problem, 2500)
	for i := range many {
		many[i] = burger
	}
	list := Result{State: Failed, Message: "no", Omitted: limitProblems(many)}.Errors()
	require.Len(t, list, MaxProblems)
	require.Equal(t, "not_published", list[0].Code)
	require.Contains(t, limitProblems(many)[MaxProblems-1].Message, "1501 more")
}

func TestCursorRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aé/ ")))
		c := Cursor{text.Draw(t, "store"), text.Draw(t, "platform")}
		read, ok := ParseCursor(c.String())
		require.True(t, ok)
		require.Equal(t, c, read)
	})
	for _, wrong := range []string{"", "!", "YQ", "YQBiAGM"} {
		_, ok := ParseCursor(wrong)
		require.False(t, ok, wrong)
	}
}
