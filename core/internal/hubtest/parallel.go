package hubtest

import (
	"flag"
	"strings"
	"sync"
	"testing"
)

// defaultParallel is how many tests of a package run in parallel without -parallel. Each test mostly waits, and its hub
// has up to 16 connections.
const defaultParallel = "4"

// claimed holds the names of tests that are already serial or parallel.
var claimed sync.Map

// Serial keeps a test from running in parallel, because it changes state of the process, such as its environment. Call
// it before every other function of this package.
func Serial(t testing.TB) { claim(t) }

// runParallel makes a test run in parallel with others. Subtests stay sequential.
func runParallel(t testing.TB) {
	if test, ok := t.(*testing.T); ok && !strings.Contains(t.Name(), "/") && claim(t) {
		test.Parallel()
	}
}

func claim(t testing.TB) (first bool) {
	if _, claimedBefore := claimed.LoadOrStore(t.Name(), true); claimedBefore {
		return false
	}
	t.Cleanup(func() { claimed.Delete(t.Name()) })
	return true
}

// limitParallel sets the number of parallel tests, unless -parallel sets it.
func limitParallel() {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", defaultParallel)
	}
}
