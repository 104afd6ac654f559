package postgres_test

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
