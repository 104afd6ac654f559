package figures

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

const (
	milliseconds = "ms"
	microseconds = "µs"
	megabytes    = "MB"
)

func of(name, unit string) *Figure { return &Figure{Name: name, Unit: unit} }

// evaluated is the figure with a target.
func evaluated(f *Figure, target string, provided ...bool) *Figure {
	with := *f
	with.Target = target
	for _, met := range provided {
		with.Provided(met)
	}
	with.Evaluate()
	return &with
}

func list(figures ...*Figure) (all []Figure) {
	for _, f := range figures {
		all = append(all, *f)
	}
	return all
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[99-i] = float64(i + 1)
	}
	for p, want := range map[float64]float64{0: 1, 1: 1, 50: 50, 99: 99, 99.5: 100, 100: 100} {
		require.Equal(t, want, Percentile(hundred, p), "p%v", p)
	}
	require.Equal(t, 100.0, hundred[0], "the values keep their order")
	require.True(t, math.IsNaN(Percentile(nil, 50)))
}

func TestMedianOfOddAndEvenCounts(t *testing.T) {
	require.Equal(t, 2.0, Median([]float64{3, 1, 2}))
	require.Equal(t, 2.5, Median([]float64{4, 1, 2, 3}))
	require.True(t, math.IsNaN(Median(nil)))
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	// the second was disturbed
	f := of("stores/job", milliseconds).Measure(200, 900, 210).Against([]float64{100, 300, 70})
	require.Equal(t, 210.0, f.Measured)
	require.Equal(t, 100.0, *f.Floor)
	require.Equal(t, 3.0, *f.Ratio)
}

func TestTargetsLimitTheValueOrTheRatio(t *testing.T) {
	time := of("time", milliseconds).Measure(20).Against([]float64{10})
	rate := of("rate", PerSecond).Measure(2000).Against([]float64{4000})
	for _, c := range []struct {
		met bool
		f   *Figure
	}{
		{true, evaluated(time, "< 20.1 ms")}, {false, evaluated(time, "< 20 ms")},
		{true, evaluated(time, "<= 2x")}, {false, evaluated(time, "<= 1.9x")},
		{true, evaluated(rate, ">= 50%")}, {false, evaluated(rate, ">= 51%")},
		{true, evaluated(rate, ">= 2,000/s, in order", true)}, {false, evaluated(rate, ">= 950/s, in order", false)},
		{true, evaluated(of("cpu", Percent).Measure(0.5), "< 1%")},
		{false, evaluated(of("failed", "failed").Measure(1), "0")},
	} {
		require.Equal(t, c.met, *c.f.Met, "%s %s", c.f.Name, c.f.Target)
	}
}

func TestFiguresAreFormattedAsATable(t *testing.T) {
	figures := list(
		evaluated(of("stores/accept", milliseconds).Measure(80, 120.4, 90), "< 150 ms"),
		evaluated(of("deliveries/drain", PerSecond).Measure(12345).Against([]float64{50000}), ">= 25%"),
		(&Figure{Name: "stores/job", Unit: milliseconds, Note: "%d stores"}).Measure(300).
			Against([]float64{150}).Noted(5000),
		of("idle/memory", megabytes).Measure(61.31),
		&Figure{Name: "idle/cpu", Error: "the hub went away"},
	)
	require.Equal(t, `FIGURE            MEASURED     FLOOR  RATIO  TARGET    MET
stores/accept      90.0 ms         -      -  < 150 ms  yes
deliveries/drain  12,345/s  50,000/s  24.7%  >= 25%    NO
stores/job          300 ms    150 ms  2.00x  -         -    5000 stores
idle/memory        61.3 MB         -      -  -         -
idle/cpu            failed                                  the hub went away
`, Table(figures))
}

func grown() []Figure {
	return list(
		of("menu/growth 100", microseconds).Measure(40).Sized(100),
		of("menu/growth 12000", microseconds).Measure(20).Sized(12000),
		of("stores/growth 50", microseconds).Measure(90).Sized(50),
		&Figure{Name: "stores/growth 200", Error: "it failed"},
		of("deliveries/history drain", PerSecond).Measure(900).Sized(5_000_000).Against([]float64{1000}),
	)
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
		require.NoError(t, Results{Machine{CPU: "a processor"}, grown()}.WriteMarkdown(page))
	}
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(written)
	require.True(t, strings.HasPrefix(text, "before\n") && strings.HasSuffix(text, "\nafter\n"), text)
	require.NotContains(t, text, "old")
	require.Equal(t, 1, strings.Count(text, "menu/growth 12000"))
	require.Contains(t, text, "a processor")
	require.FileExists(t, filepath.Join(dir, "growth.svg"))
	read, err := Read(filepath.Join(dir, "bench.json"))
	require.NoError(t, err)
	require.Equal(t, Results{Machine{CPU: "a processor"}, grown()}, read)

	require.NoError(t, os.WriteFile(page, []byte("no place"), 0o600))
	require.ErrorContains(t, Results{}.WriteMarkdown(page), "no place for the table")
}

func TestRunsAreComparedByRatiosThenFigures(t *testing.T) {
	before := list(
		of("stores/job", milliseconds).Measure(100).Against([]float64{50}),
		of("drain", PerSecond).Measure(1000).Against([]float64{2000}),
		of("intake", PerSecond).Measure(1000),
		evaluated(of("latency", milliseconds).Measure(5), "< 10 ms"),
		of("gone", milliseconds).Measure(5),
	)
	after := list(
		of("stores/job", milliseconds).Measure(200).Against([]float64{100}), // a slower machine
		of("drain", PerSecond).Measure(1000).Against([]float64{1000}),
		of("intake", PerSecond).Measure(800),
		evaluated(of("latency", milliseconds).Measure(5.4), "< 5.2 ms"),
		of("fresh", milliseconds).Measure(1),
		&Figure{Name: "idle/cpu", Error: "the hub went away"},
	)
	compared, worse := Compare(before, after, 10)
	require.True(t, worse)
	require.Equal(t, `FIGURE      MEASURED    FLOOR   RATIO  TARGET    MET
stores/job    200 ms   100 ms   2.00x  -         -    was 100 ms, +100%, +0% by ratio
drain        1,000/s  1,000/s  100.0%  -         -    was 1,000/s, +0%, +100% by ratio: better
intake         800/s        -       -  -         -    was 1,000/s, -20%: WORSE
latency      5.40 ms        -       -  < 5.2 ms  NO   was 5.00 ms, +8%: WORSE
fresh        1.00 ms        -       -  -         -    new
idle/cpu      failed                                  the hub went away
gone          failed                                  not measured
`, Table(compared))

	_, worse = Compare(before, before, 10)
	require.False(t, worse)
}

func TestGuideStatesCapacitiesOfTheLastTable(t *testing.T) {
	guide, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../deploy/BENCHMARKS.md")
	require.NoError(t, err)
	_, err = Results{}.withTable(string(page))
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z0-9/ ]+)` \\| ([^|]+) \\| \\|$").
		FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		require.Regexp(t, "(?m)^"+regexp.QuoteMeta(row[1])+"  +"+regexp.QuoteMeta(row[2])+" ", string(page),
			"servery-bench --markdown writes both")
	}
	const disk = "| disk | `idle/memory` | 40.0 MB | |\n| x | `orders/intake` | 1/s | |"
	require.Equal(t, "| disk | `idle/memory` | 41.5 MB | |\n| x | `orders/intake` | 1/s | |", capacities(disk,
		list(of("idle/memory", megabytes).Measure(41.5), &Figure{Name: "orders/intake", Error: "it failed"})))
}
