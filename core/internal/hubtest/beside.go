package hubtest

import (
	"flag"
	"strings"
	"sync"
	"testing"
)

// atOnce is how many tests of a package run beside each other where -parallel does
// not say. They wait more than they work, and a hub of each has up to 16 connections.
const atOnce = "4"

// decided are the tests, by name, of which it is decided whether they run beside others.
var decided sync.Map

// Alone keeps a test from running beside others: it changes what all tests of the
// process share, such as its environment. It comes before anything else here.
func Alone(t testing.TB) { decide(t) }

// beside lets a test run beside others from now on, subtests excepted: they run
// in the order of their test.
func beside(t testing.TB) {
	if one, is := t.(*testing.T); is && !strings.Contains(t.Name(), "/") && decide(t) {
		one.Parallel()
	}
}

func decide(t testing.TB) (first bool) {
	if _, known := decided.LoadOrStore(t.Name(), true); known {
		return false
	}
	t.Cleanup(func() { decided.Delete(t.Name()) })
	return true
}

// bound bounds how many tests run beside each other.
func bound() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", atOnce)
	}
}
