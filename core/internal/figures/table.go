package figures

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table renders figures for people: one a line, columns aligned, notes last.
func Table(figures []Figure) string {
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
	case unit == PerSecond:
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
	if unit == PerSecond {
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
