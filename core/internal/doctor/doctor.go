// Package doctor checks the environment of a hub: database, disk, secrets, plugins and endpoints. Each check adds
// results; the caller prints them.
package doctor

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Outcome says whether a check passed.
type Outcome string

// The values of Outcome.
const (
	OK   Outcome = "ok"
	Warn Outcome = "warn"
	Fail Outcome = "fail"
)

// Result describes the result of one check.
type Result struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	Found   string  `json:"found"`
	Remedy  string  `json:"do,omitzero"` // the remedy
}

// Doctor collects results.
type Doctor struct {
	Results []Result
	Log     *slog.Logger
}

// Add adds a result.
func (d *Doctor) Add(check string, v Outcome, found, do string) {
	d.Results = append(d.Results, Result{check, v, found, do})
}

// String returns the results for people.
func (d *Doctor) String() string {
	var out strings.Builder
	for _, one := range d.Results {
		fmt.Fprintf(&out, "%-4s  %-20s  %s\n", one.Outcome, one.Check, one.Found)
		if one.Remedy != "" {
			fmt.Fprintf(&out, "%28s> %s\n", "", one.Remedy)
		}
	}
	return out.String()
}

// Failed reports whether a check failed.
func (d *Doctor) Failed() bool {
	return slices.ContainsFunc(d.Results, func(r Result) bool { return r.Outcome == Fail })
}

// Configuration reports the mistakes in the configuration, one a line.
func (d *Doctor) Configuration(mistakes error) {
	if mistakes == nil {
		d.Add("configuration", OK, "every variable is valid", "")
		return
	}
	for line := range strings.SplitSeq(mistakes.Error(), "\n") {
		d.Add("configuration", Fail, line, "correct the variable (see `servery serve --help`)")
	}
}
