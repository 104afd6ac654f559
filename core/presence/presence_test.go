package presence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// standing is a clock that stands still.
type standing time.Time

func (c standing) Now() time.Time { return time.Time(c) }

func (c standing) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }

// shelf is Records in memory, of one store.
type shelf struct {
	kept  []map[Sign]time.Time
	store Store
	asked time.Time
}

func (s *shelf) Keep(_ context.Context, signs map[Sign]time.Time) error {
	s.kept = append(s.kept, signs)
	return nil
}

func (s *shelf) Review(_ context.Context, heardBefore time.Time, judge func(Store) (time.Time, error)) ([]Change, error) {
	s.asked = heardBefore
	since, err := judge(s.store)
	if err != nil || since.Equal(s.store.SilentSince) {
		return nil, err
	}
	s.store.SilentSince = since
	return []Change{{s.store, !since.IsZero()}}, nil
}

// shutter is a Closer that tells what it was asked.
type shutter struct{ asked []string }

func (s *shutter) CloseStore(_ context.Context, _ core.BusinessID, store int64, closed bool, reason string) error {
	s.asked = append(s.asked, fmt.Sprintf("%d %t: %s", store, closed, reason))
	return nil
}

func always(open bool, ago time.Duration) Hours {
	return func([]byte, time.Time) (bool, time.Duration, error) { return open, ago, nil }
}

func TestSilenceCountsWhileTheStoreIsOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		seen   time.Duration // ago
		open   bool
		opened time.Duration // ago
		takes  bool
		before time.Duration // silent so long already; 0: not
		want   time.Duration // silent for so long; 0: not
	}{
		{"just heard", 29 * time.Minute, true, time.Hour, true, 0, 0},
		{"not heard for long", 31 * time.Minute, true, time.Hour, true, 0, 31 * time.Minute},
		{"exactly so long", 30 * time.Minute, true, time.Hour, true, 0, 30 * time.Minute},
		{"opened a moment ago", 9 * time.Hour, true, time.Minute, true, 0, 0},
		{"not since it opened", 9 * time.Hour, true, 40 * time.Minute, true, 0, 40 * time.Minute},
		{"closed", 9 * time.Hour, false, 0, true, 0, 0},
		{"silent when it closed", 9 * time.Hour, false, 0, true, 8 * time.Hour, 8 * time.Hour},
		{"silent still", 9 * time.Hour, true, 20 * time.Hour, true, 9 * time.Hour, 9 * time.Hour},
		{"heard of again", time.Minute, true, 20 * time.Hour, true, 9 * time.Hour, 0},
		{"takes no orders", 9 * time.Hour, true, 20 * time.Hour, false, 9 * time.Hour, 0},
	} {
		s := Store{SeenAt: noon.Add(-c.seen), TakesOrder: c.takes}
		if c.before > 0 {
			s.SilentSince = noon.Add(-c.before)
		}
		since, err := Watch{Hours: always(c.open, c.opened), After: 30 * time.Minute, Clock: standing(noon)}.judge(s)
		require.NoError(t, err)
		if c.want == 0 {
			require.Zero(t, since, c.name)
		} else {
			require.Equal(t, noon.Add(-c.want), since, c.name)
		}
	}
}

func TestOnlyTheStoresOfThoseThatWantItAreClosed(t *testing.T) {
	for _, closes := range []bool{true, false} {
		records, closer := &shelf{store: Store{ID: 7, SeenAt: noon.Add(-time.Hour), TakesOrder: true, Closes: closes}}, &shutter{}
		w := Watch{Tally: &Tally{}, Records: records, Hours: always(true, 2*time.Hour), After: 30 * time.Minute, Closer: closer, Clock: standing(noon)}
		for range 2 {
			_, err := w.Look(context.Background())
			require.NoError(t, err)
		}
		require.Equal(t, noon.Add(-30*time.Minute), records.asked)
		records.store.SeenAt = noon
		changes, err := w.Look(context.Background())
		require.NoError(t, err)
		require.False(t, changes[0].Silent)
		if !closes {
			require.Empty(t, closer.asked)
			continue
		}
		require.Equal(t, []string{"7 true: the POS has been silent since 2026-11-23T11:00:00Z", "7 false: the POS is heard of again"}, closer.asked)
	}
}

func TestHoursThatCannotBeReadAreTold(t *testing.T) {
	wrong := errors.New("no hours")
	records := &shelf{store: Store{SeenAt: noon.Add(-time.Hour), TakesOrder: true}}
	w := Watch{Tally: &Tally{}, Records: records, After: time.Minute, Clock: standing(noon),
		Hours: func([]byte, time.Time) (bool, time.Duration, error) { return false, 0, wrong }}
	_, err := w.Look(context.Background())
	require.ErrorIs(t, err, wrong)
	w.After = 0
	_, err = w.Look(context.Background())
	require.NoError(t, err, "nobody is looked for")
}

func TestTheLatestSignOfEachIsStoredOnce(t *testing.T) {
	records, tally := &shelf{}, &Tally{}
	w := Watch{Tally: tally, Records: records}
	require.NoError(t, w.Store(context.Background()))
	require.Empty(t, records.kept, "nothing was heard")
	var hearing sync.WaitGroup
	for n := range 100 {
		hearing.Go(func() { tally.Hear(Sign{Business: 1, StoreID: int64(n % 2)}, noon.Add(time.Duration(n)*time.Second)) })
	}
	hearing.Wait()
	require.NoError(t, w.Store(context.Background()))
	require.NoError(t, w.Store(context.Background()))
	require.Equal(t, []map[Sign]time.Time{{
		{Business: 1, StoreID: 0}: noon.Add(98 * time.Second), {Business: 1, StoreID: 1}: noon.Add(99 * time.Second),
	}}, records.kept)
}

func TestATallyIsBounded(t *testing.T) {
	tally := &Tally{}
	for n := range maxSigns + 10 {
		tally.Hear(Sign{OrderID: int64(n)}, noon)
	}
	tally.Hear(Sign{OrderID: 1}, noon.Add(time.Second))
	signs := tally.take()
	require.Len(t, signs, maxSigns)
	require.Equal(t, noon.Add(time.Second), signs[Sign{OrderID: 1}])
}

func TestTheStoreOfAnEvent(t *testing.T) {
	for body, want := range map[string]int64{
		`{"order":{"items":[{"title":"\"store\":{\"id\":9"}],"store":{"id":1040,"name":"x"},"next_state":""}}`: 1040,
		`{"store":{"id":7,"ref_id":"s"}}`: 7,
		`{"order_id":1}`:                  0,
		`{"store":{"id":`:                 0,
	} {
		require.Equal(t, want, StoreOf([]byte(body)), body)
	}
	rapid.Check(t, func(t *rapid.T) { StoreOf(rapid.SliceOf(rapid.Byte()).Draw(t, "body")) })
}
