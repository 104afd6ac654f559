package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table renders figures for people: one a line, columns aligned, notes last.
func table(figures []figure) string {
	rows := [][]string{{"FIGURE", "MEASURED", "FLOOR", "RATIO", "TARGET", "MET", ""}}
	for _, f := range figures {
		if f.Error != "" {
			rows = append(rows, []string{f.Name, "failed", "", "", "", "", f.Error})
			continue
		}
		floor, ratio, met := "-", "-", "-"
		if f.Floor != nil {
			floor = amount(*f.Floor, f.Unit)
		}
		if f.Ratio != nil {
			ratio = relation(*f.Ratio, f.Unit)
		}
		if f.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*f.Met]
		}
		target := f.Target
		if target == "" {
			target = "-"
		}
		rows = append(rows, []string{f.Name, amount(f.Measured, f.Unit), floor, ratio, target, met, f.Note})
	}
	return aligned(rows, 3)
}

// aligned renders rows in columns, the last of which is open; those from the second to the
// one of the number hold numbers.
func aligned(rows [][]string, numbers int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i >= 1 && i <= numbers {
				line.WriteString(pad + cell + "  ")
			} else {
				line.WriteString(cell + pad + "  ")
			}
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
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

// relation is a ratio: of rates as a part of the floor, of times as a multiple.
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
