package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slowestShown bounds the tests in the summary.
const slowestShown = 10

// event is a line of go test -json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// test is a finished test.
type test struct {
	name    string
	elapsed float64
}

// report collects the results of a run.
type report struct {
	out      io.Writer
	output   map[string]*strings.Builder // of unfinished tests, by package and test
	cached   map[string]bool             // packages
	packages map[string]int              // by outcome, and "cached"
	tests    map[string]int              // by outcome, without subtests
	perPkg   map[string]int              // number of tests, by package
	ended    []test
	failed   []string
}

func newReport(out io.Writer) *report {
	return &report{
		out: out, output: map[string]*strings.Builder{}, cached: map[string]bool{},
		packages: map[string]int{}, tests: map[string]int{}, perPkg: map[string]int{},
	}
}

func (r *report) read(lines io.Reader) error {
	reader := bufio.NewReader(lines)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.out, "%s", line)
			} else {
				r.add(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) add(e event) {
	// A subtest's output belongs to its top-level test, which is shown as a whole.
	top, _, sub := strings.Cut(e.Test, "/")
	key := cmp.Or(e.Package, e.ImportPath) + " " + top
	switch e.Action {
	case "output", "build-output":
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
		r.cached[e.Package] = r.cached[e.Package] || e.Test == "" && strings.HasSuffix(e.Output, "\t(cached)\n")
	case "build-fail":
		r.show(key)
	case "pass", "fail", "skip":
		switch {
		case sub:
		case e.Test == "":
			r.endPackage(e, key)
		default:
			r.endTest(e, key)
		}
	}
}

func (r *report) endTest(e event, key string) {
	r.tests[e.Action]++
	r.perPkg[e.Package]++
	r.ended = append(r.ended, test{shortName(e.Package) + " " + e.Test, e.Elapsed})
	if e.Action == "fail" {
		r.failed = append(r.failed, shortName(e.Package)+" "+e.Test)
		r.show(key)
	}
	delete(r.output, key)
}

func (r *report) endPackage(e event, key string) {
	switch {
	case e.Action == "fail":
		for _, k := range r.outputsOf(e.Package) { // also of tests that ran when the process ended
			r.show(k)
		}
		if r.tests["fail"] == 0 || e.FailedBuild != "" {
			r.failed = append(r.failed, shortName(e.Package))
		}
		fmt.Fprintf(r.out, "FAIL  %-36s %4d tests %7.1fs\n", shortName(e.Package), r.perPkg[e.Package], e.Elapsed)
	case e.Action == "skip": // no test files
		return
	case r.cached[e.Package]:
		r.packages["cached"]++
	default:
		fmt.Fprintf(r.out, "ok    %-36s %4d tests %7.1fs\n", shortName(e.Package), r.perPkg[e.Package], e.Elapsed)
	}
	r.packages[e.Action]++
	delete(r.output, key)
}

// outputsOf returns the keys of the outputs of a package, its own last.
func (r *report) outputsOf(pkg string) (keys []string) {
	for key := range r.output {
		if strings.HasPrefix(key, pkg+" ") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	slices.Reverse(keys)
	return keys
}

func (r *report) show(key string) {
	if text := r.output[key]; text != nil {
		fmt.Fprint(r.out, text.String())
	}
	delete(r.output, key)
}

// summarize prints the summary. Programs parse its last line.
func (r *report) summarize(took time.Duration) {
	slices.SortFunc(r.ended, func(a, b test) int { return cmp.Compare(b.elapsed, a.elapsed) })
	if len(r.ended) > 0 && r.ended[0].elapsed > 0 {
		fmt.Fprintln(r.out, "\nslowest tests:")
		for _, t := range r.ended[:min(slowestShown, len(r.ended))] {
			fmt.Fprintf(r.out, "%7.1fs  %s\n", t.elapsed, t.name)
		}
	}
	if len(r.failed) > 0 {
		fmt.Fprintln(r.out, "\nfailed:")
		for _, name := range r.failed {
			fmt.Fprintln(r.out, "  "+name)
		}
	}
	fmt.Fprintf(r.out, "\n%d packages (%d unchanged) in %.1fs\n", r.packages["pass"]+r.packages["fail"],
		r.packages["cached"], took.Seconds())
	failed := max(r.tests["fail"], len(r.failed))
	fmt.Fprintf(r.out, "%d passed, %d failed", r.tests["pass"], failed)
	if r.tests["skip"] > 0 {
		fmt.Fprintf(r.out, ", %d skipped", r.tests["skip"])
	}
	fmt.Fprintln(r.out)
}

// shortName returns the package path without the module.
func shortName(pkg string) string { return strings.TrimPrefix(pkg, "github.com/servery-hub/servery/") }
