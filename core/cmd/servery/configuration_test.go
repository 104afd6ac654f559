package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hub"
)

// shippedValue returns the options of a hub with default flags.
func shippedValue(t *testing.T) hub.Config {
	t.Helper()
	var commands cli
	parser, err := newParser(&commands)
	require.NoError(t, err)
	_, err = parser.Parse([]string{"serve"})
	require.NoError(t, err)
	options, mistakes := commands.Serve.options()
	require.Empty(t, mistakes)
	return options.Config
}

func TestFlagsHaveTheDefaultsOfAHub(t *testing.T) {
	shipped := shippedValue(t)
	shipped.Version = ""
	require.Equal(t, hub.Defaults(), shipped)
}
