package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"time"
)

// Units of figures.
const (
	milliseconds = "ms"
	perSecond    = "/s"
	megabytes    = "MB"
	percent      = "%"
)

// figure is one measured value beside what it is held against.
type figure struct {
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
	At       float64   `json:"at,omitzero"`           // the size at which it was measured, of a figure that grows
}

// medianFigure is the median of several rounds.
func medianFigure(name, unit string, rounds []float64) figure {
	return figure{Name: name, Unit: unit, Measured: median(rounds), Rounds: rounds}
}

// against adds the floor, of which there are as many rounds. The ratio is the
// median of the rounds' ratios: what disturbs a machine for a while disturbs
// both halves of a round alike.
func (f figure) against(floors []float64) figure {
	ratios := make([]float64, len(floors))
	for i, floor := range floors {
		ratios[i] = f.Rounds[i] / floor
	}
	f.Floor, f.Ratio, f.Floors = new(median(floors)), new(median(ratios)), floors
	return f
}

// judged adds the target, in words, and whether it is met.
func (f figure) judged(target string, met bool) figure {
	f.Target, f.Met = target, &met
	return f
}

// at tells the size of what was measured.
func (f figure) at(size int) figure {
	f.At = float64(size)
	return f
}

func (f figure) noted(note string) figure {
	f.Note = note
	return f
}

// percentile is the value below which p percent of the values lie, by the
// nearest rank; NaN of none.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, or the mean of the two in the middle; NaN of none.
func median(values []float64) float64 {
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

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// writeJSON writes the run for programs to read.
func writeJSON(file string, on machine, figures []figure) error {
	content, err := json.MarshalIndent(run{on, figures}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}
