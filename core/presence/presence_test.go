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

// fixedClock is a clock that does not advance.
type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

func (c fixedClock) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }

// memoryRepository is a Repository in memory with one store.
type memoryRepository struct {
	saved []map[Heartbeat]time.Time
	store Store
	limit time.Duration

	closed  bool
	changes []string
	setErr  error // of SetClosed
	saveErr error // of SaveHeartbeats
}

func (s *memoryRepository) SaveHeartbeats(_ context.Context, signs map[Heartbeat]time.Time) error {
	if s.saveErr == nil {
		s.saved = append(s.saved, signs)
	}
	return s.saveErr
}

func (s *memoryRepository) Review(_ context.Context, after time.Duration,
	check func(Store) (time.Time, error)) ([]Change, error) {
	s.limit = after
	since, err := check(s.store)
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
	return func(Store) (bool, time.Duration, error) { return open, ago, nil }
}

func TestSilenceCountsWhileTheStoreIsOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		seen   time.Duration // ago
		open   bool
		opened time.Duration // ago
		takes  bool
		before time.Duration // already silent for; 0: not silent
		want   time.Duration // silent for; 0: not silent
	}{
		{"recent heartbeat", 29 * time.Minute, true, time.Hour, true, 0, 0},
		{"old heartbeat", 31 * time.Minute, true, time.Hour, true, 0, 31 * time.Minute},
		{"exactly at the limit", 30 * time.Minute, true, time.Hour, true, 0, 30 * time.Minute},
		{"just opened", 9 * time.Hour, true, time.Minute, true, 0, 0},
		{"no heartbeat since it opened", 9 * time.Hour, true, 40 * time.Minute, true, 0, 40 * time.Minute},
		{"closed", 9 * time.Hour, false, 0, true, 0, 0},
		{"silent when it closed", 9 * time.Hour, false, 0, true, 8 * time.Hour, 8 * time.Hour},
		{"still silent", 9 * time.Hour, true, 20 * time.Hour, true, 9 * time.Hour, 9 * time.Hour},
		{"active again", time.Minute, true, 20 * time.Hour, true, 9 * time.Hour, 0},
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
	for _, closeWhenSilent := range []bool{true, false} {
		repository := &memoryRepository{store: Store{ID: 7, SeenAt: noon.Add(-time.Hour), TakesOrder: true,
			SilenceLimit:    30 * time.Minute,
			CloseWhenSilent: closeWhenSilent}}
		w := Monitor{Tally: &Tally{}, Repository: repository, Hours: always(true, 2*time.Hour),
			SilenceLimit: 20 * time.Minute,
			Clock:        fixedClock(noon)}
		for range 2 {
			_, err := w.Check(context.Background())
			require.NoError(t, err)
		}
		require.Equal(t, 20*time.Minute, repository.limit, "the default limit")
		repository.store.SeenAt = noon
		changes, err := w.Check(context.Background())
		require.NoError(t, err)
		require.False(t, changes[0].Silent)
		if !closeWhenSilent {
			require.Empty(t, repository.changes)
			continue
		}
		require.Equal(t, []string{"7 true: the POS has been silent since 2026-11-23T11:00:00Z",
			"7 false: the POS is active again"}, repository.changes)
	}
}

func TestUnfinishedClosureIsCompletedByTheNextCheck(t *testing.T) {
	repository := &memoryRepository{store: Store{ID: 7, SeenAt: noon.Add(-time.Hour), TakesOrder: true,
		SilenceLimit:    30 * time.Minute,
		CloseWhenSilent: true}, setErr: errors.New("the hub crashed")}
	w := Monitor{Tally: &Tally{}, Repository: repository, Hours: always(true, 2*time.Hour), Clock: fixedClock(noon)}
	changes, err := w.Check(context.Background())
	require.ErrorIs(t, err, repository.setErr)
	require.Len(t, changes, 1, "the silent store is reported")
	require.Empty(t, repository.changes)
	repository.setErr = nil
	changes, err = w.Check(context.Background())
	require.NoError(t, err)
	require.Empty(t, changes, "the change is known")
	require.Equal(t, []string{"7 true: the POS has been silent since 2026-11-23T11:00:00Z"}, repository.changes)
	repository.store.CloseWhenSilent = false
	_, err = w.Check(context.Background())
	require.NoError(t, err)
	require.Equal(t, "7 false: stores stay open while their POS is silent", repository.changes[1])
}

func TestUnreadableHoursAreReported(t *testing.T) {
	failure := errors.New("no hours")
	repository := &memoryRepository{store: Store{SeenAt: noon.Add(-time.Hour), TakesOrder: true,
		SilenceLimit: time.Minute}}
	w := Monitor{Tally: &Tally{}, Repository: repository, Clock: fixedClock(noon),
		Hours: func(Store) (bool, time.Duration, error) { return false, 0, failure }}
	_, err := w.Check(context.Background())
	require.ErrorIs(t, err, failure)
	repository.store.SilenceLimit = 0
	_, err = w.Check(context.Background())
	require.NoError(t, err, "a store without a limit is not checked")
}

func TestLatestHeartbeatOfEachStoreIsStoredOnce(t *testing.T) {
	repository, tally := &memoryRepository{}, &Tally{}
	w := Monitor{Tally: tally, Repository: repository}
	require.NoError(t, w.Flush(context.Background()))
	require.Empty(t, repository.saved, "no heartbeats")
	var wait sync.WaitGroup
	for n := range 100 {
		wait.Go(func() {
			tally.Record(Heartbeat{Business: 1, StoreID: int64(n % 2)},
				noon.Add(time.Duration(n)*time.Second))
		})
	}
	wait.Wait()
	require.NoError(t, w.Flush(context.Background()))
	require.NoError(t, w.Flush(context.Background()))
	require.Equal(t, []map[Heartbeat]time.Time{{
		{Business: 1, StoreID: 0}: noon.Add(98 * time.Second), {Business: 1, StoreID: 1}: noon.Add(99 * time.Second),
	}}, repository.saved)
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

func TestFullHeartbeatTallyKeepsSpaceForEachBusiness(t *testing.T) {
	tally := &Tally{}
	for n := range maxHeartbeats {
		tally.Record(Heartbeat{Business: 1, OrderID: int64(n)}, noon)
	}
	for n := range ownHeartbeats + 10 {
		tally.Record(Heartbeat{Business: 2, StoreID: int64(n)}, noon)
	}
	other := Heartbeat{Business: 3, StoreRef: "S-1"}
	tally.Record(other, noon)
	signs := tally.take()
	require.Len(t, signs, maxHeartbeats+ownHeartbeats+1)
	require.Equal(t, noon, signs[other])
	require.Contains(t, signs, Heartbeat{Business: 2, StoreID: ownHeartbeats - 1})
	require.NotContains(t, signs, Heartbeat{Business: 2, StoreID: ownHeartbeats})
	tally.Record(other, noon)
	require.Len(t, tally.take(), 1, "the next minute begins empty")
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
	repository := &memoryRepository{saveErr: errors.New("the connection is lost")}
	w := Monitor{Tally: &Tally{}, Repository: repository}
	rare, frequent := Heartbeat{Business: 1, StoreID: 1}, Heartbeat{Business: 1, StoreRef: "S-2"}
	then := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w.Record(rare, then)
	w.Record(frequent, then)
	require.ErrorIs(t, w.Flush(t.Context()), repository.saveErr)
	w.Record(frequent, then.Add(time.Minute))
	repository.saveErr = nil
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, []map[Heartbeat]time.Time{{rare: then, frequent: then.Add(time.Minute)}}, repository.saved)
}
