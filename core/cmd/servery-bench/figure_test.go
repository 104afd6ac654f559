package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
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
	require.Equal(t, 100.0, hundred[0], "the values are left in their order")
	require.Equal(t, 7.0, percentile([]float64{7}, 50))
	require.True(t, math.IsNaN(percentile(nil, 50)))
}

func TestMedian(t *testing.T) {
	require.Equal(t, 2.0, median([]float64{3, 1, 2}))
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	require.True(t, math.IsNaN(median(nil)))
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	f := medianFigure("stores/job", milliseconds, []float64{200, 900, 210}).against([]float64{100, 300, 70}) // the second was disturbed
	require.Equal(t, 210.0, f.Measured)
	require.Equal(t, 100.0, *f.Floor)
	require.Equal(t, 3.0, *f.Ratio)
}

func TestTable(t *testing.T) {
	figures := []figure{
		medianFigure("stores/accept", milliseconds, []float64{80, 120.4, 90}).judged("< 150 ms", true),
		medianFigure("deliveries/drain", perSecond, []float64{12345}).against([]float64{50000}).judged(">= 25%", false),
		medianFigure("stores/job", milliseconds, []float64{300}).against([]float64{150}).noted("5,000 stores"),
		{Name: "idle/cpu", Error: "the hub went away"},
	}
	require.Equal(t, `FIGURE            MEASURED     FLOOR  RATIO  TARGET    MET
stores/accept      90.0 ms         -      -  < 150 ms  yes
deliveries/drain  12,345/s  50,000/s  24.7%  >= 25%    NO
stores/job          300 ms    150 ms  2.00x  -         -    5,000 stores
idle/cpu            failed                                  the hub went away
`, table(figures))
}

func TestAmount(t *testing.T) {
	for want, got := range map[string]string{
		"0.25 %": amount(0.254, percent), "61.3 MB": amount(61.31, megabytes), "1,234,567/s": amount(1234567, perSecond),
		"999/s": amount(999.4, perSecond),
	} {
		require.Equal(t, want, got)
	}
}

func TestJSONKeepsWhatWasMeasured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	require.NoError(t, writeJSON(file, machine{Cores: 2}, []figure{
		medianFigure("deliveries/drain", perSecond, []float64{10, 20, 30}).against([]float64{20, 50, 60}).judged(">= 25%", true),
	}))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var read struct {
		Machine machine
		Figures []figure
	}
	require.NoError(t, json.Unmarshal(content, &read))
	require.Equal(t, 2, read.Machine.Cores)
	require.Equal(t, "deliveries/drain", read.Figures[0].Name)
	require.Equal(t, 0.5, *read.Figures[0].Ratio)
	require.True(t, *read.Figures[0].Met)
	require.Equal(t, []float64{10, 20, 30}, read.Figures[0].Rounds)
}

func TestSelection(t *testing.T) {
	m := measurement{names: []string{"stores/accept", "stores/job created"}}
	for only, want := range map[string]bool{"stores": true, "stores/job": true, "idle": false, "": true} {
		b := &bench{}
		if only != "" {
			b.Only = []string{only}
		}
		require.Equal(t, want, b.selected(m), only)
	}
}
