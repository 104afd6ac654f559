package postgres_test

import (
	"flag"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "15") // each takes many requests; the command line has the last word
	hubtest.Main(m)
}
