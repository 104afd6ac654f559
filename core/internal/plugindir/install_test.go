package plugindir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDryRunSummarySaysThatNothingChanges(t *testing.T) {
	const result = "upgraded, and running hubs switch to it"
	p := Desired{ID: "tasty", Installed: "2.0.0", Enabled: true}
	require.Equal(t, "plugin tasty 2.0.0 is "+result+"\n", p.Summary(result))
	p.DryRun = true
	require.Equal(t, "plugin tasty 2.0.0 is not upgraded, because of --dry-run\n", p.Summary(result))
}
