package aggregator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestMissingRequiredPluginSettingsAreReported(t *testing.T) {
	about := &sdk.Description{SettingsSchema: []byte(`{"type":"object","required":["region"],` +
		`"properties":{"region":{"enum":["eu","us"]}}}`)}
	for settings, want := range map[string][]string{
		"": {"settings missing property 'region'"}, `{"region":"eu"}`: nil,
		`{"region":"moon"}`: {"settings.region value must be one of 'eu', 'us'"},
	} {
		require.Equal(t, want, missing(&relay.Access{Settings: []byte(settings)}, about), settings)
	}
}
