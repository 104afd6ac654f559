package ui

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/adminui/text"
)

// Diff is the difference between two bodies, line by line.
type Diff struct {
	Before, After string // labels of the two bodies
	Lines         []DiffLine
	Problem       string // why they were not compared; "" if they were
}

// DiffLine is a line of a Diff. Its sign is - if only the first body has it, + if only the second has it, and a space
// if both have it. The sign … marks omitted lines.
type DiffLine struct{ Sign, Text string }

// Bounds of a comparison.
const (
	diffSize    = 1 << 20  // bytes of a body
	diffEdits   = 1000     // changed lines
	diffContext = 3        // unchanged lines around a change
	diffShown   = 800      // lines in total
	diffBytes   = 48 << 10 // of their text
	diffWidth   = 400      // bytes of a line
)

// lines splits a body into lines. It formats JSON with one value a line and sorted object members.
func lines(body []byte) []string {
	formatted := jsontext.Value(slices.Clone(body))
	if formatted.Format(jsontext.ReorderRawObjects(true), jsontext.WithIndent("  ")) == nil {
		body = formatted
	}
	return strings.Split(strings.ToValidUTF8(string(body), "\uFFFD"), "\n")
}

// Compare adds the difference between two bodies to d.
func Compare(d Diff, before, after []byte) Diff {
	if len(before) > diffSize || len(after) > diffSize {
		d.Problem = text.DiffTooLarge
		return d
	}
	edits, ok := editScript(lines(before), lines(after))
	if !ok {
		d.Problem = text.DiffTooMany
		return d
	}
	d.Lines = clipContext(edits)
	return d
}

// editScript returns the shortest edit script between two lists of lines (Myers, An O(ND) Difference Algorithm). It
// returns false if that has more than diffEdits edits.
func editScript(a, b []string) ([]DiffLine, bool) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	middle, ok := shortestEdit(a[head:len(a)-tail], b[head:len(b)-tail])
	if !ok {
		return nil, false
	}
	list := make([]DiffLine, 0, len(a)+len(middle))
	for _, text := range a[:head] {
		list = append(list, DiffLine{" ", text})
	}
	list = append(list, middle...)
	for _, text := range a[len(a)-tail:] {
		list = append(list, DiffLine{" ", text})
	}
	return list, true
}

func shortestEdit(a, b []string) ([]DiffLine, bool) {
	furthest := make([]int32, 2*diffEdits+3) // by diagonal: the furthest x of a path with d edits
	middle := diffEdits + 1
	var trace [][]int32
	for d := 0; d <= min(diffEdits, len(a)+len(b)); d++ {
		trace = append(trace, slices.Clone(furthest[middle-d-1:middle+d+2]))
		for k := -d; k <= d; k += 2 {
			x := int(furthest[middle+k-1]) + 1
			if k == -d || k != d && furthest[middle+k-1] < furthest[middle+k+1] {
				x = int(furthest[middle+k+1])
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			furthest[middle+k] = int32(x)
			if x >= len(a) && y >= len(b) {
				return backtrack(a, b, trace), true
			}
		}
	}
	return nil, false
}

// backtrack returns the path from the end of both lists to their start.
func backtrack(a, b []string, trace [][]int32) []DiffLine {
	var list []DiffLine
	x, y := len(a), len(b)
	for d, furthest := range slices.Backward(trace) {
		at := func(k int) int { return int(furthest[k+d+1]) }
		k := x - y
		from := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			from = k + 1
		}
		fromX := at(from)
		fromY := fromX - from
		for x > max(fromX, 0) && y > max(fromY, 0) {
			x, y = x-1, y-1
			list = append(list, DiffLine{" ", a[x]})
		}
		if d == 0 {
			break
		}
		if from == k-1 {
			x--
			list = append(list, DiffLine{"-", a[x]})
		} else {
			y--
			list = append(list, DiffLine{"+", b[y]})
		}
	}
	slices.Reverse(list)
	return list
}

// clipContext omits lines far from any change, and truncates long lines.
func clipContext(edits []DiffLine) []DiffLine {
	near := make([]bool, len(edits))
	for i, line := range edits {
		if line.Sign != " " {
			for j := max(0, i-diffContext); j <= min(len(edits)-1, i+diffContext); j++ {
				near[j] = true
			}
		}
	}
	var list []DiffLine
	size := 0
	for i, line := range edits {
		switch {
		case len(list) == diffShown || size > diffBytes:
			return append(list, DiffLine{Sign: "…"})
		case near[i]:
			if len(line.Text) > diffWidth {
				line.Text = strings.ToValidUTF8(line.Text[:diffWidth], "") + "…"
			}
			size += len(line.Text)
			list = append(list, line)
		case i > 0 && near[i-1] || i == 0:
			list = append(list, DiffLine{Sign: "…"})
		}
	}
	if len(list) == 1 && list[0].Sign == "…" {
		return nil
	}
	return list
}

func (l DiffLine) class() string {
	switch l.Sign {
	case "-":
		return "diff-gone"
	case "+":
		return "diff-new"
	case "…":
		return "diff-skip"
	}
	return ""
}
