package main

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFailureEndsAMeasurementAndCleansUp(t *testing.T) {
	cleaned := ""
	figures := new(bench).measure(t.Context(), row(func(r *run) {
		r.Cleanup(func() { cleaned += "a" })
		r.Cleanup(func() { cleaned += "b" })
		r.add(measured("first", milliseconds, 1))
		inParallel(10, 2, func(i int) { verify(i < 5, "piece %d failed", 5) })
		r.add(measured("second", milliseconds, 1))
	}, "second"))
	require.Equal(t, "ba", cleaned)
	require.Equal(t, []figure{measured("first", milliseconds, 1), {Name: "second", Error: "piece 5 failed"}}, figures)
}

func TestFailureOfAFixtureEndsTheMeasurement(t *testing.T) {
	figures := new(bench).measure(t.Context(), row(func(r *run) {
		require.NoError(r, errors.New("no database"))
	}, "row"))
	require.Len(t, figures, 1)
	require.Contains(t, figures[0].Error, "no database")
	require.NotContains(t, figures[0].Error, "\n", "it is a line of the table")
}

func TestOnlyFlagSelectsMeasurements(t *testing.T) {
	for only, want := range map[string]bool{"stores": true, "stores/job": true, "idle": false, "": true} {
		b := &bench{}
		if only != "" {
			b.Only = []string{only}
		}
		require.Equal(t, want, b.selected("stores/accept", "stores/job created"), only)
	}
}

func TestRoundsBeginWithAnotherPart(t *testing.T) {
	order := ""
	part := func(name string, value float64) func() float64 {
		return func() float64 {
			order += name
			return value
		}
	}
	require.Equal(t, [][]float64{{1, 1, 1}, {2, 2, 2}}, inTurn(3, part("a", 1), part("b", 2)))
	require.Equal(t, "abbaab", order)
}

func TestAtRateRunsEveryTaskOnce(t *testing.T) {
	var times [40]atomic.Int32
	for i, took := range atRate(t.Context(), 1e6, len(times), func(i int) { times[i].Add(1) }) {
		require.EqualValues(t, 1, times[i].Load())
		require.Positive(t, took)
	}
	failed := errors.New("it failed")
	require.PanicsWithValue(t, failure{failed}, func() {
		atRate(t.Context(), 1e6, 40, func(int) { check(failed) })
	})
}
