package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func grown() []figure {
	drain := medianFigure("deliveries/history drain", perSecond, []float64{900}).at(5_000_000).against([]float64{1000})
	return []figure{
		medianFigure("menu/growth 100", microseconds, []float64{40}).at(100), medianFigure("menu/growth 12000", microseconds, []float64{20}).at(12000),
		medianFigure("stores/growth 50", microseconds, []float64{90}).at(50), {Name: "stores/growth 200", Error: "it failed"}, drain,
	}
}

func TestCurvesAreFoundInTheFiguresOfARun(t *testing.T) {
	curves := curvesOf(grown())
	require.Len(t, curves, 2, "one point is no curve")
	require.Equal(t, [][2]float64{{100, 40}, {12000, 20}}, curves[0].points)
	require.Equal(t, [][2]float64{{0, 1000}, {5_000_000, 900}}, curves[1].points, "the floor is the same with no history")
}

func TestAChartIsXMLWithEveryPoint(t *testing.T) {
	svg := drawChart(curvesOf(grown()))
	require.NoError(t, xml.Unmarshal([]byte(svg), new(any)))
	require.Equal(t, 4, strings.Count(svg, "<circle"))
	require.NotContains(t, svg, "NaN")
	require.NoError(t, xml.Unmarshal([]byte(drawChart(nil)), new(any)))
}

func TestATableTakesThePlaceOfTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "PAGE.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+tableBegins+"\nold\n"+tableEnds+"\nafter\n"), 0o600))
	for range 2 {
		require.NoError(t, writeMarkdown(page, machine{CPU: "a processor"}, grown()))
	}
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(written)
	require.True(t, strings.HasPrefix(text, "before\n") && strings.HasSuffix(text, "\nafter\n"), text)
	require.NotContains(t, text, "old")
	require.Equal(t, 1, strings.Count(text, "menu/growth 12000"))
	require.Contains(t, text, "a processor")
	require.FileExists(t, filepath.Join(dir, chartName))

	require.NoError(t, os.WriteFile(page, []byte("no place"), 0o600))
	require.ErrorContains(t, writeMarkdown(page, machine{}, nil), "no place for the table")
}

func TestThePageOfBenchmarksHasAPlaceForTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../deploy/BENCHMARKS.md")
	require.NoError(t, err)
	_, err = withTable(page, machine{}, nil)
	require.NoError(t, err)
}
