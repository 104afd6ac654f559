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
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// fixedClock is a clock that stands still.
type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

func (c fixedClock) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }

// memoryRepository is Records in memory, of one store.
type memoryRepository struct {
	saved []map[Heartbeat]time.Time
	store Store
	limit time.Duration

	closed  bool
	changes []string
	setErr  error // of settling
	saveErr error // of keeping
}

func (s *memoryRepository) SaveHeartbeats(_ context.Context, signs map[Heartbeat]time.Time) error {
	if s.saveErr == nil {
		s.saved = append(s.saved, signs)
	}
	return s.saveErr
}

func (s *memoryRepository) Review(_ context.Context, after time.Duration, judge func(Store) (time.Time, error)) ([]Change, error) {
	s.limit = after
	since, err := judge(s.store)
	if err != nil || since.Equal(s.store.SilentSince) {
		return nil, err
	}
	s.store.SilentSince = since
	return []Change{{s.store, !since.IsZero()}}, nil
}

func (s *memoryRepository) PendingStores(context.Context) ([]Store, error) {
	if s.closed == (s.store.CloseWhenSilent && !s.store.SilentSince.IsZero()) {
		return nil, nil
	}
	return []Store{s.store}, nil
}

func (s *memoryRepository) SetClosed(_ context.Context, store Store, closed bool, reason string) error {
	if s.setErr == nil {
		s.closed, s.changes = closed, append(s.changes, fmt.Sprintf("%d %t: %s", store.ID, closed, reason))
	}
	return s.setErr
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
		s := Store{SeenAt: noon.Add(-c.seen), TakesOrder: c.takes, SilenceLimit: 30 * time.Minute}
		if c.before > 0 {
			s.SilentSince = noon.Add(-c.before)
		}
		since, err := Monitor{Hours: always(c.open, c.opened), Clock: fixedClock(noon)}.silentSince(s)
		require.NoError(t, err)
		if c.want == 0 {
			require.Zero(t, since, c.name)
		} else {
			require.Equal(t, noon.Add(-c.want), since, c.name)
		}
	}
}

func TestOnlyBusinessesThatOptInCloseSilentStores(t *testing.T) {
	for _, closes := range []bool{true, false} {
		records := &memoryRepository{store: Store{ID: 7, SeenAt: noon.Add(-time.Hour), TakesOrder: true, SilenceLimit: 30 * time.Minute,
			CloseWhenSilent: closes}}
		w := Monitor{Tally: &Tally{}, Repository: records, Hours: always(true, 2*time.Hour), SilenceLimit: 20 * time.Minute,
			Clock: fixedClock(noon)}
		for range 2 {
			_, err := w.Check(context.Background())
			require.NoError(t, err)
		}
		require.Equal(t, 20*time.Minute, records.limit, "where a business does not say")
		records.store.SeenAt = noon
		changes, err := w.Check(context.Background())
		require.NoError(t, err)
		require.False(t, changes[0].Silent)
		if !closes {
			require.Empty(t, records.changes)
			continue
		}
		require.Equal(t, []string{"7 true: the POS has been silent since 2026-11-23T11:00:00Z",
			"7 false: the POS is active again"}, records.changes)
	}
}

func TestUnfinishedClosureIsCompletedByTheNextCheck(t *testing.T) {
	records := &memoryRepository{store: Store{ID: 7, SeenAt: noon.Add(-time.Hour), TakesOrder: true, SilenceLimit: 30 * time.Minute,
		CloseWhenSilent: true}, setErr: errors.New("the hub crashed")}
	w := Monitor{Tally: &Tally{}, Repository: records, Hours: always(true, 2*time.Hour), Clock: fixedClock(noon)}
	changes, err := w.Check(context.Background())
	require.ErrorIs(t, err, records.setErr)
	require.Len(t, changes, 1, "it is told that the store is silent")
	require.Empty(t, records.changes)
	records.setErr = nil
	changes, err = w.Check(context.Background())
	require.NoError(t, err)
	require.Empty(t, changes, "that is known by now")
	require.Equal(t, []string{"7 true: the POS has been silent since 2026-11-23T11:00:00Z"}, records.changes)
	records.store.CloseWhenSilent = false
	_, err = w.Check(context.Background())
	require.NoError(t, err)
	require.Equal(t, "7 false: stores stay open while their POS is silent", records.changes[1])
}

func TestUnreadableHoursAreReported(t *testing.T) {
	wrong := errors.New("no hours")
	records := &memoryRepository{store: Store{SeenAt: noon.Add(-time.Hour), TakesOrder: true, SilenceLimit: time.Minute}}
	w := Monitor{Tally: &Tally{}, Repository: records, Clock: fixedClock(noon),
		Hours: func([]byte, time.Time) (bool, time.Duration, error) { return false, 0, wrong }}
	_, err := w.Check(context.Background())
	require.ErrorIs(t, err, wrong)
	records.store.SilenceLimit = 0
	_, err = w.Check(context.Background())
	require.NoError(t, err, "a store that is never silent is not looked at")
}

func TestLatestHeartbeatOfEachStoreIsStoredOnce(t *testing.T) {
	records, tally := &memoryRepository{}, &Tally{}
	w := Monitor{Tally: tally, Repository: records}
	require.NoError(t, w.Flush(context.Background()))
	require.Empty(t, records.saved, "nothing was heard")
	var hearing sync.WaitGroup
	for n := range 100 {
		hearing.Go(func() {
			tally.Record(Heartbeat{Business: 1, StoreID: int64(n % 2)},
				noon.Add(time.Duration(n)*time.Second))
		})
	}
	hearing.Wait()
	require.NoError(t, w.Flush(context.Background()))
	require.NoError(t, w.Flush(context.Background()))
	require.Equal(t, []map[Heartbeat]time.Time{{
		{Business: 1, StoreID: 0}: noon.Add(98 * time.Second), {Business: 1, StoreID: 1}: noon.Add(99 * time.Second),
	}}, records.saved)
}

func TestHeartbeatTallyIsBounded(t *testing.T) {
	tally := &Tally{}
	for n := range maxHeartbeats + 10 {
		tally.Record(Heartbeat{OrderID: int64(n)}, noon)
	}
	tally.Record(Heartbeat{OrderID: 1}, noon.Add(time.Second))
	signs := tally.take()
	require.Len(t, signs, maxHeartbeats)
	require.Equal(t, noon.Add(time.Second), signs[Heartbeat{OrderID: 1}])
}

func TestStoreIDIsReadFromAnEvent(t *testing.T) {
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

func TestUnstoredHeartbeatsAreStoredNextTime(t *testing.T) {
	records := &memoryRepository{saveErr: errors.New("the connection is lost")}
	w := Monitor{Tally: &Tally{}, Repository: records}
	seldom, often := Heartbeat{Business: 1, StoreID: 1}, Heartbeat{Business: 1, StoreRef: "S-2"}
	then := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w.Record(seldom, then)
	w.Record(often, then)
	require.ErrorIs(t, w.Flush(t.Context()), records.saveErr)
	w.Record(often, then.Add(time.Minute))
	records.saveErr = nil
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, []map[Heartbeat]time.Time{{seldom: then, often: then.Add(time.Minute)}}, records.saved)
}
