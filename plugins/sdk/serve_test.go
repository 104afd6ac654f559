//go:build unix

package sdk_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/sdk"
)

// The test's own program also acts as the plugin and as a host.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "as-plugin":
		os.Args = os.Args[:1]
		sdk.Serve(minimal{})
	case "as-plugin-by-hand", "describe":
		sdk.Serve(minimal{})
	case "as-host":
		host()
	default:
		os.Exit(m.Run())
	}
}

// minimal is a minimal plugin.
type minimal struct{}

func (minimal) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{Id: "small", Version: "1.0.0", DisplayName: "Small"}, nil
}

// host starts the plugin, prints its process id and address, and blocks.
func host() {
	config := sdk.HostConfig()
	config.Cmd = exec.Command(os.Args[0], "as-plugin")
	config.Stderr = os.Stderr
	client := plugin.NewClient(config)
	address, err := client.Start()
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(config.Cmd.Process.Pid, address.String())
	select {}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, what)
}

func TestPluginEndsWithItsKilledHost(t *testing.T) {
	host := exec.Command(os.Args[0], "as-host")
	stdout, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	number, socket, found := strings.Cut(strings.TrimSpace(line), " ")
	require.True(t, found, line)
	pid, err := strconv.Atoi(number)
	require.NoError(t, err, line)
	require.FileExists(t, socket)
	require.NoError(t, host.Process.Kill())
	_ = host.Wait()
	eventually(t, "the plugin ends", func() bool { return gone(pid) })
	eventually(t, "its socket is removed", func() bool { _, err := os.Stat(socket); return os.IsNotExist(err) })
}

// gone reports whether a process has ended. On a machine without init it stays as a zombie.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(status), ") Z ")
}

func TestPluginEndsWhenItsInputCloses(t *testing.T) {
	command := exec.Command(os.Args[0], "as-plugin")
	command.Env = []string{sdk.Handshake.MagicCookieKey + "=" + sdk.Handshake.MagicCookieValue,
		"PLUGIN_PROTOCOL_VERSIONS=1", sdk.StdinHeld + "=1"}
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, `^1\|1\|unix\|.*\|grpc\|`, line)
	require.NoError(t, stdin.Close())
	require.NoError(t, command.Wait())
	require.NoFileExists(t, strings.Split(line, "|")[3])
}

func TestPluginIgnoresSIGTERMWhileTheHostLives(t *testing.T) {
	config := sdk.HostConfig()
	config.Cmd = exec.Command(os.Args[0], "as-plugin")
	client := plugin.NewClient(config)
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	require.NoError(t, err)
	require.NoError(t, config.Cmd.Process.Signal(syscall.SIGTERM))
	dispensed, err := protocol.Dispense(sdk.Name)
	require.NoError(t, err)
	about, err := dispensed.(*sdk.Client).Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "small", about.GetId())
}

func TestPluginStartedByHandExplainsItself(t *testing.T) {
	output, err := exec.Command(os.Args[0], "as-plugin-by-hand").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "This is small 1.0.0, a plugin of the Servery hub: Small.")
}

func TestDescribePrintsTheDescriptionAsJSON(t *testing.T) {
	output, err := exec.Command(os.Args[0], "describe").Output()
	require.NoError(t, err)
	about := &sdk.Description{}
	require.NoError(t, sdk.FromJSON(output, about))
	require.Equal(t, "small", about.GetId())
	require.EqualValues(t, sdk.Protocol, about.GetProtocol())
}
