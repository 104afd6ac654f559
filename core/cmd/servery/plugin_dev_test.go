package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// devCommand is a running `servery plugin dev`.
type devCommand struct {
	*hubtest.Process
	t      *testing.T
	output string // file
}

func startDev(t *testing.T, env environment, source string) *devCommand {
	t.Helper()
	d := &devCommand{hubtest.NewProcess(builtBinary(t), env, "plugin", "dev", source), t,
		filepath.Join(t.TempDir(), "output")}
	file, err := os.Create(d.output)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	// go build needs its cache and settings
	d.Cmd.Env = append(os.Environ(), append(env.List(), "GOPROXY=off", "GOWORK=off")...)
	d.Cmd.Stdout, d.Cmd.Stderr = file, file
	d.Start(t)
	return d
}

func (d *devCommand) text() string {
	text, err := os.ReadFile(d.output)
	require.NoError(d.t, err)
	return string(text)
}

func (d *devCommand) await(text string) {
	d.t.Helper()
	eventually(d.t, 3*waitTimeout, func() error {
		shown := d.text()
		require.True(d.t, d.Running(), "the command ended: %s", shown)
		if !strings.Contains(shown, text) {
			return fmt.Errorf("%q is not in the output:\n%s", text, shown)
		}
		return nil
	})
}

// edit replaces a text in a file.
func (d *devCommand) edit(file, from, to string) {
	d.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(d.t, err)
	require.Contains(d.t, string(text), from)
	require.NoError(d.t, os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}

func TestPluginDevRebuildsAndShowsCalls(t *testing.T) {
	plugins, source := t.TempDir(), filepath.Join(t.TempDir(), "tasty")
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", plugins)
	h := startHub(t, env)
	_, stderr, status := pluginKit(t, "new", "tasty", "--dir", source)
	require.Zero(t, status, stderr)
	d := startDev(t, env, source)
	d.await("plugin tasty 0.1.0+dev.1 is ready in 1 running hubs")

	var created struct{ ID int }
	serveryJSON(t, env, &created, "business", "create", "--name", "X", "--country", "US", "--timezone",
		"America/Chicago", "--currency", "USD")
	business := strconv.Itoa(created.ID)
	for _, platform := range []string{"tasty", "other"} {
		set := servery(t, env, "platform", "set", "--business", business, platform, "--plugin", "tasty",
			"--endpoint", "api=https://api.example.com", "--secret", "webhook_token=a-token-of-the-test")
		require.Zero(t, set.status, set.stderr)
	}
	response := hubtest.Call(t, "POST", h.URL+"/channel/api/v1/tasty/callback/order/?business="+business,
		"Bearer a-token-of-the-test", map[string]any{"order": "A-1", "store": "s1",
			"lines":    []map[string]any{{"item": "dal", "count": 1}},
			"customer": map[string]string{"name": "Jane Roe", "phone": "555-0100"}})
	require.NotZero(t, response.Status)
	d.await(" Orders.Translate ")
	d.await(`"platform_order_id": "A-1"`)
	require.NotContains(t, d.text(), "Jane Roe")
	require.NotContains(t, d.text(), "555-0100")
	require.NotContains(t, d.text(), "a-token-of-the-test")

	d.edit(filepath.Join(source, "main.go"), "func main() {", "func main() { undefinedCall();")
	d.await("undefined: undefinedCall")
	d.await("plugin tasty 0.1.0+dev.1 stays installed")
	d.edit(filepath.Join(source, "main.go"), "undefinedCall();", "")
	d.await("plugin tasty 0.1.0+dev.2 is ready in 1 running hubs")
	require.Zero(t, d.Stop(t, syscall.SIGINT), d.text())
	require.NoFileExists(t, filepath.Join(plugins, "tasty", ".dev.json"))
	list := servery(t, env, "plugin", "list")
	require.Contains(t, list.stdout, "0.1.0+dev.2 ready")
}
