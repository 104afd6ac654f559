package postgres_test

import (
	"flag"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "15") // each check sends many requests; a command line flag overrides this
	hubtest.Main(m)
}
