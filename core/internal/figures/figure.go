// Package figures holds measured values beside their floors and targets. It renders them as a table and as a chart, and
// compares two runs.
package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Units of figures with separate rules of comparison.
const (
	PerSecond = "/s"
	Percent   = "%"
)

// Figure is a measured value beside its floor and its target.
type Figure struct {
	Name     string    `json:"figure"`
	Unit     string    `json:"unit,omitzero"`
	Measured float64   `json:"measured"`
	Floor    *float64  `json:"floor,omitzero"`
	Ratio    *float64  `json:"ratio,omitzero"` // measured to floor, within a round
	Target   string    `json:"target,omitzero"`
	Met      *bool     `json:"met,omitzero"`
	Note     string    `json:"note,omitzero"`
	Rounds   []float64 `json:"rounds,omitzero"`       // of the measured value
	Floors   []float64 `json:"floor_rounds,omitzero"` // of the floor
	Error    string    `json:"error,omitzero"`        // why it could not be measured
	At       float64   `json:"at,omitzero"`           // size of the measured work, in a growth figure
}

// Measure sets the measured value: the median of the rounds.
func (f *Figure) Measure(rounds ...float64) *Figure {
	f.Measured, f.Rounds = Median(rounds), rounds
	return f
}

// Against adds the floor, which has as many rounds. The ratio is the median of the ratios of the rounds, because a
// disturbance affects both halves of a round.
func (f *Figure) Against(floors []float64) *Figure {
	ratios := make([]float64, len(floors))
	for i, floor := range floors {
		ratios[i] = f.Rounds[i] / floor
	}
	f.Floor, f.Ratio, f.Floors = new(Median(floors)), new(Median(ratios)), floors
	return f
}

// Provided adds the condition that the target names after a comma.
func (f *Figure) Provided(met bool) *Figure {
	f.Met = &met
	return f
}

// Sized adds the size of the measured work.
func (f *Figure) Sized(size int) *Figure {
	f.At = float64(size)
	return f
}

// Noted fills in the values of the note.
func (f *Figure) Noted(values ...any) *Figure {
	f.Note = fmt.Sprintf(f.Note, values...)
	return f
}

// Evaluate sets whether the target is met, such as "< 2 ms", "<= 3x", or ">= 25%".
func (f *Figure) Evaluate() {
	if f.Target == "" || f.Error != "" || f.Met != nil && !*f.Met {
		return
	}
	limited, _, _ := strings.Cut(f.Target, ", ")
	number := strings.TrimLeft(limited, "<>= ")
	operator := strings.TrimSpace(strings.TrimSuffix(limited, number))
	limit, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(number, "%xµms/MB "), ",", ""), 64)
	if err != nil {
		panic(fmt.Sprintf("%s: target %q", f.Name, f.Target))
	}
	value := f.Measured
	switch {
	case strings.HasSuffix(limited, "x"):
		value = *f.Ratio
	case strings.HasSuffix(limited, Percent) && f.Unit == PerSecond:
		value = 100 * *f.Ratio
	}
	met := map[string]bool{"<": value < limit, "<=": value <= limit, ">=": value >= limit, "": value == limit}[operator]
	f.Met = &met
}

// Percentile is the value below which p percent of the values lie, by the nearest rank; NaN of none.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the middle value, or the mean of the two in the middle; NaN of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
