package main

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/installtest"
)

var buildBinary = sync.OnceValues(func() (string, error) { return installtest.Program(".", "servery") })

// builtBinary compiles the program once for all tests of this process. With -short it skips the test, because these
// tests take long and the race detector does not see the program.
func builtBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts programs")
	}
	binary, err := buildBinary()
	require.NoError(t, err)
	return binary
}
