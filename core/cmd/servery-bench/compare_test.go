package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwoRunsAreComparedByTheirRatiosElseByTheFigures(t *testing.T) {
	before := []figure{
		medianFigure("stores/job", milliseconds, []float64{100}).against([]float64{50}),
		medianFigure("drain", perSecond, []float64{1000}).against([]float64{2000}),
		medianFigure("intake", perSecond, []float64{1000}),
		medianFigure("latency", milliseconds, []float64{5}).judged("< 10 ms", true),
		medianFigure("gone", milliseconds, []float64{5}),
	}
	after := []figure{
		medianFigure("stores/job", milliseconds, []float64{200}).against([]float64{100}), // a slower machine
		medianFigure("drain", perSecond, []float64{1000}).against([]float64{1000}),
		medianFigure("intake", perSecond, []float64{800}),
		medianFigure("latency", milliseconds, []float64{5.4}).judged("< 5.2 ms", false),
		medianFigure("fresh", milliseconds, []float64{1}),
		{Name: "idle/cpu", Error: "the hub went away"},
	}
	var text strings.Builder
	worse, err := compare(&text, before, after, 10)
	require.NoError(t, err)
	require.True(t, worse)
	require.Equal(t, `FIGURE       BEFORE    AFTER  CHANGE  BY RATIO
stores/job   100 ms   200 ms   +100%       +0%
drain       1,000/s  1,000/s     +0%     +100%  better
intake      1,000/s    800/s    -20%         -  WORSE
latency     5.00 ms  5.40 ms     +8%         -  WORSE: misses its target < 5.2 ms
fresh             -  1.00 ms       -         -  new
idle/cpu          -        -       -         -  failed: the hub went away
gone        5.00 ms        -       -         -  not measured
`, text.String())

	worse, err = compare(&text, before, before, 10)
	require.NoError(t, err)
	require.False(t, worse)
}

func TestTheGuideTellsTheCapacityOfTheLastTable(t *testing.T) {
	guide, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../deploy/BENCHMARKS.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z0-9/ ]+)` \\| ([^|]+) \\| \\|$").FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		require.Regexp(t, "(?m)^"+regexp.QuoteMeta(row[1])+"  +"+regexp.QuoteMeta(row[2])+" ", string(page), "servery-bench --markdown writes both")
	}
	const disk = "| disk | `idle/memory` | 40.0 MB | |\n| x | `orders/intake` | 1/s | |"
	require.Equal(t, "| disk | `idle/memory` | 41.5 MB | |\n| x | `orders/intake` | 1/s | |",
		capacities(disk, []figure{medianFigure("idle/memory", megabytes, []float64{41.5}), {Name: "orders/intake", Error: "it failed"}}))
}
