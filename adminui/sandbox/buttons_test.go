package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core/console"
)

func TestEveryScenarioAndFaultHasALabel(t *testing.T) {
	kinds := []string{}
	for _, b := range buttons("/", console.Scenario{}) {
		require.NotEmpty(t, b.Help)
		kinds = append(kinds, b.Hidden[0].Value)
	}
	require.Equal(t, console.Scenarios, kinds)
	for _, kind := range console.FaultKinds {
		require.Contains(t, text.FaultKinds, kind)
	}
}
