package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

var noon = time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)

func TestAttemptsAreCountedPerMinuteAndHour(t *testing.T) {
	var counter AttemptCounter
	counter.Count(Attempt{Business: 1, Webhook: 7, At: noon, Took: time.Second})
	counter.Count(Attempt{Business: 1, Webhook: 8, At: noon, Took: 3 * time.Second, Class: "status"})
	counter.Count(Attempt{Business: 1, At: noon, Took: time.Second})
	sums := counter.Take()
	require.Equal(t, Count{Succeeded: 2, Failed: 1, TotalTime: 5 * time.Second, Slowest: 3 * time.Second},
		sums.Counts[CounterKey{1, time.Hour, noon.Truncate(time.Hour), 0}])
	require.Equal(t, Count{Failed: 1, TotalTime: 3 * time.Second, Slowest: 3 * time.Second},
		sums.Counts[CounterKey{1, time.Minute, noon.Truncate(time.Minute), 8}])
	require.Len(t, sums.Counts, 6)
	require.Empty(t, counter.Take().Counts)
}

func TestFailingSinceStartsAfterTheLatestSuccess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var change HealthChange
		var succeeded, since time.Time
		var all []Attempt
		for i := range rapid.IntRange(1, 12).Draw(t, "attempts") {
			a := Attempt{At: noon.Add(time.Duration(i) * time.Second)}
			if rapid.Bool().Draw(t, "failed") {
				a.Class = "status"
			}
			all = append(all, a)
			change = change.apply(a)
		}
		for _, a := range all {
			switch {
			case a.Class == "":
				succeeded, since = a.At, time.Time{}
			case since.IsZero():
				since = a.At
			}
		}
		require.Equal(t, succeeded, change.SucceededAt)
		require.Equal(t, since, change.FailingSince)
	})
}

func TestOutcomesInAnyOrderShowTheLatestState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var change HealthChange
		var succeeded, failed time.Time
		for _, i := range rapid.Permutation([]int{1, 2, 3, 4, 5, 6}).Draw(t, "order") {
			a := Attempt{At: noon.Add(time.Duration(i) * time.Second)}
			last := &succeeded
			if rapid.Bool().Draw(t, "failed") {
				a.Class, last = "status", &failed
			}
			if a.At.After(*last) {
				*last = a.At
			}
			change = change.apply(a)
			require.Equal(t, []time.Time{succeeded, failed}, []time.Time{change.SucceededAt, change.FailedAt})
			require.Equal(t, failed.After(succeeded), !change.FailingSince.IsZero())
			if failed.After(succeeded) {
				require.True(t, change.FailingSince.After(succeeded) && !change.FailingSince.After(failed))
			}
		}
	})
}

func TestRestoredCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, interrupted AttemptCounter
		for i := range rapid.IntRange(1, 12).Draw(t, "attempts") {
			a := Attempt{Business: 1, Webhook: rapid.Int64Range(0, 2).Draw(t, "webhook"), Took: time.Second,
				At: noon.Add(time.Duration(i) * 40 * time.Second)}
			if rapid.Bool().Draw(t, "failed") {
				a.Class, a.Status, a.Delivery = "status", 500+i, core.ID{byte(i)}
			}
			all.Count(a)
			sums := Sums{}
			if rapid.Bool().Draw(t, "taken") {
				sums = interrupted.Take()
			}
			interrupted.Count(a)
			interrupted.Restore(sums)
		}
		require.Equal(t, all.Take(), interrupted.Take())
	})
}
