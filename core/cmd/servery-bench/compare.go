package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// compareCommand holds two runs against each other.
type compareCommand struct {
	Before string  `arg:"" placeholder:"FILE" help:"JSON of the earlier run."`
	After  string  `arg:"" placeholder:"FILE" help:"JSON of the later one."`
	Within float64 `default:"10" help:"Changes of up to so many percent are not remarked on; runs of one program differ by that much."`
	Strict bool    `help:"Fail where a figure is worse."`
}

// errWorse is the failure of a strict comparison.
var errWorse = errors.New("a figure is worse")

// Run prints every figure of both runs.
func (c compareCommand) Run() error {
	before, err := readRun(c.Before)
	if err != nil {
		return err
	}
	after, err := readRun(c.After)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%s\n", before.Machine.line(), after.Machine.line())
	worse, err := compare(os.Stdout, before.Figures, after.Figures, c.Within)
	if err == nil && worse && c.Strict {
		err = errWorse
	}
	return err
}

// run is what is written of a measurement for programs to read.
type run struct {
	Machine machine  `json:"machine"`
	Figures []figure `json:"figures"`
}

func readRun(file string) (run, error) {
	var r run
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return run{}, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// compare prints a line for each figure and tells whether one is worse. It judges by the
// ratio to the floor where both runs have one: that is what two machines, or a machine and the
// same one on a busy day, have in common.
func compare(out io.Writer, before, after []figure, within float64) (worse bool, err error) {
	earlier := map[string]figure{}
	for _, f := range before {
		earlier[f.Name] = f
	}
	rows := [][]string{{"FIGURE", "BEFORE", "AFTER", "CHANGE", "BY RATIO", ""}}
	for _, now := range after {
		was, known := earlier[now.Name]
		delete(earlier, now.Name)
		row := []string{now.Name, "-", "-", "-", "-", ""}
		if known && was.Error == "" {
			row[1] = amount(was.Measured, was.Unit)
		}
		switch {
		case now.Error != "":
			row[5] = "failed: " + now.Error
			worse = true
		case !known || was.Error != "":
			row[2], row[5] = amount(now.Measured, now.Unit), "new"
		default:
			row[2] = amount(now.Measured, now.Unit)
			change := 100 * (now.Measured/was.Measured - 1)
			row[3] = fmt.Sprintf("%+.0f%%", change)
			if was.Ratio != nil && now.Ratio != nil {
				change = 100 * (*now.Ratio / *was.Ratio - 1)
				row[4] = fmt.Sprintf("%+.0f%%", change)
			}
			if now.Unit == perSecond { // of which more is better
				change = -change
			}
			missed := was.Met != nil && *was.Met && now.Met != nil && !*now.Met
			switch {
			case missed:
				row[5] = "WORSE: misses its target " + now.Target
			case change > within:
				row[5] = "WORSE"
			case change < -within:
				row[5] = "better"
			}
			worse = worse || missed || change > within
		}
		rows = append(rows, row)
	}
	for _, f := range before {
		if _, gone := earlier[f.Name]; gone {
			rows = append(rows, []string{f.Name, amount(f.Measured, f.Unit), "-", "-", "-", "not measured"})
		}
	}
	_, err = io.WriteString(out, aligned(rows, 4))
	return worse, err
}

// capacities puts the measured values of figures into the table of a page: in its rows, the
// cell after a figure's name in backquotes is what was measured.
func capacities(page string, figures []figure) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		cells := strings.Split(line, " | ")
		for _, f := range figures {
			if len(cells) > 2 && cells[1] == "`"+f.Name+"`" && f.Error == "" {
				cells[2] = amount(f.Measured, f.Unit)
				lines[i] = strings.Join(cells, " | ")
			}
		}
	}
	return strings.Join(lines, "\n")
}
