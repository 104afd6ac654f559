package sdk_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/sdk"
)

func TestPluginStartErrorsAreExplained(t *testing.T) {
	for says, err := range map[string]error{
		"not: hello world": errors.New("Unrecognized remote plugin message: hello " +
			"world\nThis usually means"),
		"it printed no handshake": errors.New("Unrecognized remote plugin message: \nFailed to read any lines"),
		"another protocol than 1": errors.New("incompatible API version with plugin. Plugin " +
			"version: 2, Client versions: [1]"),
		"its interpreter or loader": &os.PathError{Op: "fork/exec", Path: "/tmp/x/noint",
			Err: fs.ErrNotExist},
		"fork/exec /tmp/x/noexec: permission denied": errors.New("fork/exec /tmp/x/noexec: permission denied"),
		"timeout while waiting for plugin to start":  errors.New("timeout while waiting for plugin to start\nmore"),
	} {
		require.ErrorContains(t, sdk.ExplainStartError(err), says)
		require.NotContains(t, sdk.ExplainStartError(err).Error(), "\n")
	}
}
