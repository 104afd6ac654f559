package main

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[99-i] = float64(i + 1)
	}
	for p, want := range map[float64]float64{0: 1, 1: 1, 50: 50, 99: 99, 99.5: 100, 100: 100} {
		require.Equal(t, want, percentile(hundred, p), "p%v", p)
	}
	require.Equal(t, 100.0, hundred[0], "the values keep their order")
	require.True(t, math.IsNaN(percentile(nil, 50)))
}

func TestMedianOfOddAndEvenCounts(t *testing.T) {
	require.Equal(t, 2.0, median([]float64{3, 1, 2}))
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	require.True(t, math.IsNaN(median(nil)))
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	// the second was disturbed
	f := measured("stores/job", milliseconds, 200, 900, 210).against([]float64{100, 300, 70})
	require.Equal(t, 210.0, f.Measured)
	require.Equal(t, 100.0, *f.Floor)
	require.Equal(t, 3.0, *f.Ratio)
}

func TestTargetsLimitTheValueOrTheRatio(t *testing.T) {
	time := measured("time", milliseconds, 20).against([]float64{10})
	rate := measured("rate", perSecond, 2000).against([]float64{4000})
	for _, c := range []struct {
		met bool
		f   figure
	}{
		{true, time.withTarget("< 20.1 ms")}, {false, time.withTarget("< 20 ms")},
		{true, time.withTarget("<= 2x")}, {false, time.withTarget("<= 1.9x")},
		{true, rate.withTarget(">= 50%")}, {false, rate.withTarget(">= 51%")},
		{true, rate.withTarget(">= 2,000/s, in order", true)}, {false, rate.withTarget(">= 950/s, in order", false)},
		{true, measured("cpu", percent, 0.5).withTarget("< 1%")}, {false, measured("failed", "failed", 1).withTarget("0")},
	} {
		require.Equal(t, c.met, *c.f.Met, "%s %s", c.f.Name, c.f.Target)
	}
}

func TestFiguresAreFormattedAsATable(t *testing.T) {
	figures := []figure{
		measured("stores/accept", milliseconds, 80, 120.4, 90).withTarget("< 150 ms"),
		measured("deliveries/drain", perSecond, 12345).against([]float64{50000}).withTarget(">= 25%"),
		measured("stores/job", milliseconds, 300).against([]float64{150}).noted("5,000 stores"),
		measured("idle/memory", megabytes, 61.31),
		{Name: "idle/cpu", Error: "the hub went away"},
	}
	require.Equal(t, `FIGURE            MEASURED     FLOOR  RATIO  TARGET    MET
stores/accept      90.0 ms         -      -  < 150 ms  yes
deliveries/drain  12,345/s  50,000/s  24.7%  >= 25%    NO
stores/job          300 ms    150 ms  2.00x  -         -    5,000 stores
idle/memory        61.3 MB         -      -  -         -
idle/cpu            failed                                  the hub went away
`, table(figures))
}

func grown() []figure {
	return []figure{
		measured("menu/growth 100", microseconds, 40).at(100),
		measured("menu/growth 12000", microseconds, 20).at(12000),
		measured("stores/growth 50", microseconds, 90).at(50),
		{Name: "stores/growth 200", Error: "it failed"},
		measured("deliveries/history drain", perSecond, 900).at(5_000_000).against([]float64{1000}),
	}
}

func TestChartHasEveryCurveOfTheFigures(t *testing.T) {
	svg := drawChart(grown())
	require.NoError(t, xml.Unmarshal([]byte(svg), new(any)))
	require.Equal(t, 2, strings.Count(svg, "<polyline"), "one point is no curve")
	for _, label := range []string{"12,000", "20.0 µs", "5,000,000", "1,000/s"} {
		require.Contains(t, svg, ">"+label+"<")
	}
	require.Empty(t, drawChart(nil))
}

func TestNewTableReplacesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "PAGE.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+tableBegins+"\nold\n"+tableEnds+"\nafter\n"), 0o600))
	for range 2 {
		results{machine{CPU: "a processor"}, grown()}.writeMarkdown(page)
	}
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(written)
	require.True(t, strings.HasPrefix(text, "before\n") && strings.HasSuffix(text, "\nafter\n"), text)
	require.NotContains(t, text, "old")
	require.Equal(t, 1, strings.Count(text, "menu/growth 12000"))
	require.Contains(t, text, "a processor")
	require.FileExists(t, filepath.Join(dir, "growth.svg"))
	require.Equal(t, results{machine{CPU: "a processor"}, grown()}, readResults(filepath.Join(dir, "bench.json")))

	require.NoError(t, os.WriteFile(page, []byte("no place"), 0o600))
	require.ErrorContains(t, attempt(func() { results{}.writeMarkdown(page) }), "no place for the table")
}

func TestRunsAreComparedByRatiosThenFigures(t *testing.T) {
	before := []figure{
		measured("stores/job", milliseconds, 100).against([]float64{50}),
		measured("drain", perSecond, 1000).against([]float64{2000}),
		measured("intake", perSecond, 1000),
		measured("latency", milliseconds, 5).withTarget("< 10 ms"),
		measured("gone", milliseconds, 5),
	}
	after := []figure{
		measured("stores/job", milliseconds, 200).against([]float64{100}), // a slower machine
		measured("drain", perSecond, 1000).against([]float64{1000}),
		measured("intake", perSecond, 800),
		measured("latency", milliseconds, 5.4).withTarget("< 5.2 ms"),
		measured("fresh", milliseconds, 1),
		{Name: "idle/cpu", Error: "the hub went away"},
	}
	compared, worse := compare(before, after, 10)
	require.True(t, worse)
	require.Equal(t, `FIGURE      MEASURED    FLOOR   RATIO  TARGET    MET
stores/job    200 ms   100 ms   2.00x  -         -    was 100 ms, +100%, +0% by ratio
drain        1,000/s  1,000/s  100.0%  -         -    was 1,000/s, +0%, +100% by ratio: better
intake         800/s        -       -  -         -    was 1,000/s, -20%: WORSE
latency      5.40 ms        -       -  < 5.2 ms  NO   was 5.00 ms, +8%: WORSE
fresh        1.00 ms        -       -  -         -    new
idle/cpu      failed                                  the hub went away
gone          failed                                  not measured
`, table(compared))

	_, worse = compare(before, before, 10)
	require.False(t, worse)
}

func TestGuideStatesCapacitiesOfTheLastTable(t *testing.T) {
	guide, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../deploy/BENCHMARKS.md")
	require.NoError(t, err)
	require.NotPanics(t, func() { results{}.withTable(page) })
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z0-9/ ]+)` \\| ([^|]+) \\| \\|$").
		FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		require.Regexp(t, "(?m)^"+regexp.QuoteMeta(row[1])+"  +"+regexp.QuoteMeta(row[2])+" ", string(page),
			"servery-bench --markdown writes both")
	}
	const disk = "| disk | `idle/memory` | 40.0 MB | |\n| x | `orders/intake` | 1/s | |"
	require.Equal(t, "| disk | `idle/memory` | 41.5 MB | |\n| x | `orders/intake` | 1/s | |", capacities(disk,
		[]figure{measured("idle/memory", megabytes, 41.5), {Name: "orders/intake", Error: "it failed"}}))
}
