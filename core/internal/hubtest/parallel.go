package hubtest

import (
	"flag"
	"strings"
	"sync"
	"testing"
)

// defaultParallel is how many tests of a package run beside each other where -parallel does
// not say. They wait more than they work, and a hub of each has up to 16 connections.
const defaultParallel = "4"

// claimed are the tests, by name, of which it is decided whether they run beside others.
var claimed sync.Map

// Serial keeps a test from running beside others: it changes what all tests of the
// process share, such as its environment. It comes before anything else here.
func Serial(t testing.TB) { claim(t) }

// runParallel lets a test run beside others from now on, subtests excepted: they run
// in the order of their test.
func runParallel(t testing.TB) {
	if one, is := t.(*testing.T); is && !strings.Contains(t.Name(), "/") && claim(t) {
		one.Parallel()
	}
}

func claim(t testing.TB) (first bool) {
	if _, known := claimed.LoadOrStore(t.Name(), true); known {
		return false
	}
	t.Cleanup(func() { claimed.Delete(t.Name()) })
	return true
}

// limitParallel bounds how many tests run beside each other.
func limitParallel() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", defaultParallel)
	}
}
