// Package storetest tests the packages with SQL together, and the kernel with a schema. In the kernel's directory, each
// package that imports the kernel would be compiled again for the tests.
package storetest

import (
	"flag"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// oneGoroutine is why long tests are skipped with -short: make race uses it, and make test runs them.
const oneGoroutine = "one goroutine reads and writes much data"

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "15") // each check sends many requests; a command line flag overrides this
	hubtest.Main(m)
}
