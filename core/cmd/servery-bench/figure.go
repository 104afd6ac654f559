package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Units of figures.
const (
	milliseconds = "ms"
	microseconds = "µs"
	perSecond    = "/s"
	megabytes    = "MB"
	percent      = "%"
)

// figure is a measured value beside its floor and its target.
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
	At       float64   `json:"at,omitzero"`           // size of the measured work, in a growth figure
}

// measured is the median of the rounds.
func measured(name, unit string, rounds ...float64) figure {
	return figure{Name: name, Unit: unit, Measured: median(rounds), Rounds: rounds}
}

// against adds the floor, which has as many rounds. The ratio is the median of the ratios of the rounds, because a
// disturbance affects both halves of a round.
func (f figure) against(floors []float64) figure {
	ratios := make([]float64, len(floors))
	for i, floor := range floors {
		ratios[i] = f.Rounds[i] / floor
	}
	f.Floor, f.Ratio, f.Floors = new(median(floors)), new(median(ratios)), floors
	return f
}

// withTarget adds a target such as "< 2 ms", "<= 3x", or ">= 25%", and whether it is met. Multiples, and percentages of
// a rate, limit the ratio; all others limit the measured value. The text after a comma names the further conditions.
func (f figure) withTarget(target string, conditions ...bool) figure {
	limited, _, _ := strings.Cut(target, ", ")
	number := strings.TrimLeft(limited, "<>= ")
	operator := strings.TrimSpace(strings.TrimSuffix(limited, number))
	number = strings.ReplaceAll(strings.TrimRight(number, "%xµms/MB "), ",", "")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: target %q", f.Name, target))
	}
	value := f.Measured
	switch {
	case strings.HasSuffix(limited, "x"):
		value = *f.Ratio
	case strings.HasSuffix(limited, percent) && f.Unit == perSecond:
		value = 100 * *f.Ratio
	}
	met := map[string]bool{"<": value < limit, "<=": value <= limit, ">=": value >= limit, "": value == limit}[operator]
	f.Target, f.Met = target, new(met && !slices.Contains(conditions, false))
	return f
}

// at adds the size of the measured work.
func (f figure) at(size int) figure {
	f.At = float64(size)
	return f
}

// noted adds a note.
func (f figure) noted(format string, args ...any) figure {
	f.Note = fmt.Sprintf(format, args...)
	return f
}

// percentile is the value below which p percent of the values lie, by the nearest rank; NaN of none.
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

// table renders figures for people: one a line, columns aligned, notes last.
func table(figures []figure) string {
	rows := [][]string{{"FIGURE", "MEASURED", "FLOOR", "RATIO", "TARGET", "MET", ""}}
	for _, f := range figures {
		if f.Error != "" {
			rows = append(rows, []string{f.Name, "failed", "", "", "", "", f.Error})
			continue
		}
		row := []string{f.Name, amount(f.Measured, f.Unit), "-", "-", "-", "-", f.Note}
		if f.Floor != nil {
			row[2], row[3] = amount(*f.Floor, f.Unit), relation(*f.Ratio, f.Unit)
		}
		if f.Met != nil {
			row[4], row[5] = f.Target, map[bool]string{true: "yes", false: "NO"}[*f.Met]
		}
		rows = append(rows, row)
	}
	return aligned(rows, 3)
}

// aligned renders rows in columns. The given number of columns after the first is aligned to the right.
func aligned(rows [][]string, right int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i >= 1 && i <= right {
				cell, pad = pad, cell
			}
			line += cell + pad + "  "
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// amount is a value with its unit, with as many digits as mean something.
func amount(value float64, unit string) string {
	switch {
	case unit == perSecond:
		return thousands(int64(value+0.5)) + unit
	case value < 10:
		return fmt.Sprintf("%.2f %s", value, unit)
	case value < 100:
		return fmt.Sprintf("%.1f %s", value, unit)
	default:
		return fmt.Sprintf("%.0f %s", value, unit)
	}
}

// relation is a ratio: of rates as a percentage of the floor, of times as a multiple.
func relation(ratio float64, unit string) string {
	if unit == perSecond {
		return fmt.Sprintf("%.1f%%", 100*ratio)
	}
	return fmt.Sprintf("%.2fx", ratio)
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
