package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hostile"
)

func TestFailureEndsAMeasurementAndCleansUp(t *testing.T) {
	cleaned := ""
	got := new(bench).measure(t.Context(), measurement{func(r *run) {
		r.Cleanup(func() { cleaned += "a" })
		r.Cleanup(func() { cleaned += "b" })
		r.add("first", 1).Noted(5)
		inParallel(10, 2, func(i int) { verify(i < 5, "piece %d failed", 5) })
		r.add("second", 1)
	}, []figures.Figure{{Name: "first", Unit: "ms", Target: "< 2 ms", Note: "of %d"},
		{Name: "second", Unit: "ms"}}})
	require.Equal(t, "ba", cleaned)
	require.Len(t, got, 2)
	require.Equal(t, "first 1.00 of 5 true", fmt.Sprintf("%s %.2f %s %t", got[0].Name, got[0].Measured, got[0].Note,
		*got[0].Met))
	require.Equal(t, figures.Figure{Name: "second", Error: "piece 5 failed"}, got[1])
}

func TestFailureOfAFixtureEndsTheMeasurement(t *testing.T) {
	got := new(bench).measure(t.Context(), measurement{func(r *run) {
		require.NoError(r, errors.New("no database"))
	}, []figures.Figure{{Name: "row"}}})
	require.Len(t, got, 1)
	require.Contains(t, got[0].Error, "no database")
	require.NotContains(t, got[0].Error, "\n", "it is a line of the table")
}

func TestOnlyFlagSelectsMeasurements(t *testing.T) {
	for only, want := range map[string]bool{"stores": true, "stores/job": true, "idle": false, "": true} {
		b := &bench{}
		if only != "" {
			b.Only = []string{only}
		}
		require.Equal(t, want, b.selected(figures.Figure{Name: "stores/job created"}), only)
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
	for i, took := range (&run{ctx: t.Context()}).atRate(1e6, len(times), func(i int) { times[i].Add(1) }) {
		require.EqualValues(t, 1, times[i].Load())
		require.Positive(t, took)
	}
	failed := errors.New("it failed")
	require.PanicsWithValue(t, failure{failed}, func() {
		(&run{ctx: t.Context()}).atRate(1e6, 40, func(int) { check(failed) })
	})
}

func TestLatenciesEndWithTheFirstArrival(t *testing.T) {
	began := time.Now()
	all := []sent{{"a", began, began.Add(time.Millisecond)}}
	after := func(d time.Duration) Arrival { return Arrival{At: began.Add(d)} }
	fromCall, fromReturn := latencies(all, map[string][]Arrival{
		"a": {after(3 * time.Millisecond), after(time.Second)}, "b": {after(0)}})
	require.Equal(t, []float64{3}, fromCall)
	require.Equal(t, []float64{2}, fromReturn)
	require.EqualError(t, attempt(func() { latencies(all, nil) }), "a did not arrive")
}

func TestTableHasTheFiguresOfThePage(t *testing.T) {
	last, err := figures.Read("../../../deploy/bench.json")
	require.NoError(t, err)
	declared := map[string]figures.Figure{}
	for _, m := range measurements() {
		require.NotEmpty(t, m.rows)
		for _, one := range m.rows {
			require.NotContains(t, declared, one.Name)
			declared[one.Name] = one
		}
	}
	for _, kind := range hostile.Kinds() {
		require.Contains(t, declared, abuseFigure(kind))
	}
	for _, f := range last.Figures {
		require.Contains(t, declared, f.Name)
		require.Equal(t, f.Unit, declared[f.Name].Unit, f.Name)
	}
}
