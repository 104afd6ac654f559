package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The lines between which the last table stands in a page.
const (
	tableBegins = "<!-- the last table: written by servery-bench --markdown -->"
	tableEnds   = "<!-- the end of the last table -->"
)

// What stands beside the page: the chart, the run itself, with which later ones are
// compared, and the guide that tells what a hub is capable of.
const (
	chartName = "growth.svg"
	runName   = "bench.json"
	guideName = "README.md"
)

// writeMarkdown puts a run into a page in the place of the one before, and what is
// made of it beside the page.
func writeMarkdown(file string, on machine, figures []figure) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, err = withTable(page, on, figures)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.WriteFile(file, page, 0o644); err != nil {
		return err
	}
	beside := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	if guide, err := os.ReadFile(beside(guideName)); err == nil {
		if err := os.WriteFile(beside(guideName), []byte(capacities(string(guide), figures)), 0o644); err != nil {
			return err
		}
	}
	curves := curvesOf(figures)
	if len(curves) == 0 {
		return nil // a part of the figures was measured: chart and run stay
	}
	if err := writeJSON(beside(runName), on, figures); err != nil {
		return err
	}
	return os.WriteFile(beside(chartName), []byte(drawChart(curves)), 0o644)
}

func withTable(page []byte, on machine, figures []figure) ([]byte, error) {
	before, rest, begins := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return nil, fmt.Errorf("it has no place for the table: the lines %s and %s", tableBegins, tableEnds)
	}
	return fmt.Appendf(nil, "%s%s\n\n%s\n\nMeasured %s.\n\n```\n%s```\n\n%s%s",
		before, tableBegins, on.line(), on.At.UTC().Format("2006-01-02"), table(figures), tableEnds, after), nil
}
