package plugintest_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// programs are the plugins that this test program serves, by its file name.
var programs = map[string]sdk.Plugin{"dials": dials{}}

func TestMain(m *testing.M) {
	if p, is := programs[filepath.Base(os.Args[0])]; is {
		sdk.Serve(p)
		return
	}
	os.Exit(m.Run())
}

// program returns a driver of one of the programs.
func program(t *testing.T, name string) plugintest.Driver {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, path))
	return plugintest.Subprocess(path, sdk.TransportMTLS)
}

// dials connects to the address in a rider's name.
type dials struct{ compliant }

func (dials) PlanRiderStatus(ctx context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.GetRiderName())
	if err != nil {
		return nil, err
	}
	return sdk.Skip("connected to " + conn.RemoteAddr().String())
}

func TestProgramsHaveNoNetwork(t *testing.T) {
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
	if err := probe.Run(); err != nil {
		t.Skip("this system allows no namespaces: ", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	running, err := program(t, "dials").Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, running.Stop()) }()
	_, err = running.Client.PlanRiderStatus(t.Context(), &pb.RiderStatusRequest{RiderName: listener.Addr().String()})
	require.ErrorContains(t, err, "network is unreachable")
}
