package pluginhost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Plugins are built without the hub's packages, so the SDK has a copy of the table.
func TestHubAndSDKAgreeOnCurrencyDigits(t *testing.T) {
	for n := range 26 * 26 * 26 {
		code := string([]byte{'A' + byte(n/676), 'A' + byte(n/26%26), 'A' + byte(n%26)})
		digits, known := sdk.MinorDigits(code)
		require.True(t, known)
		require.EqualValues(t, core.MinorDigits(code), digits, code)
	}
}
