package plugintest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// programs are the plugins that this test program serves, by its file name.
var programs = map[string]sdk.Plugin{"compliant": compliant{}, "dials": dials{}, "forks": forks{}, "writes": writes{},
	"temporary": writes{temporary: true}, "inherits": inherits{}, "prints": prints{},
	"keeps": keepsBusiness{first: &atomic.Int64{}}}

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
	_, err = running.Client.Riders().PlanStatus(t.Context(),
		&pb.RiderStatusRequest{RiderName: listener.Addr().String()})
	require.ErrorContains(t, err, "network is unreachable")
}

// forks starts a process that outlives it.
type forks struct{ compliant }

func (forks) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	if err := exec.Command("/bin/sleep", "600").Start(); err != nil {
		return nil, err
	}
	return sdk.Skip("not supported")
}

func (f forks) CheckItems(ctx context.Context, call *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	if _, err := f.PlanRiderStatus(ctx, nil); err != nil {
		return nil, err
	}
	return compliant{}.CheckItems(ctx, call, items)
}

// stdout is the standard output of a program. A program that serves replaces os.Stdout.
var stdout = os.Stdout

// inherits starts a process that outlives it and keeps its standard output open.
type inherits struct{ compliant }

func (inherits) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	command := exec.Command("/bin/sleep", "600")
	command.Stdout = stdout
	if err := command.Start(); err != nil {
		return nil, err
	}
	return sdk.Skip("not supported")
}

// writes leaves a file in its working directory, or in that of temporary files.
type writes struct {
	compliant
	temporary bool
}

func (w writes) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	path := "riders"
	if w.temporary {
		path = filepath.Join(os.TempDir(), "temporary-riders")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, err
	}
	return sdk.Skip("not supported")
}

// keepsBusiness returns the business of the first call.
type keepsBusiness struct {
	compliant
	first *atomic.Int64
}

func (k keepsBusiness) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	k.first.CompareAndSwap(0, r.GetCall().GetBusiness())
	return sdk.Send(sdk.JSONPlan("POST", "api", "/rider", k.first.Load()))
}

func TestBusinessOfTheFirstCallIsFound(t *testing.T) {
	t.Parallel()
	const check = "settings of one business do not reach another"
	require.Contains(t, driverFailures(t, program(t, "keeps"), plugintest.Options{}.Only(check))[check],
		"returns another response")
}

// prints prints the name of a rider.
type prints struct{ compliant }

func (prints) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	fmt.Println(strings.Repeat(".", 60_000), r.GetRiderName())
	return sdk.Skip("not supported")
}

func TestPrintedPersonalDataIsFound(t *testing.T) {
	t.Parallel()
	const check = "the log is readable and holds nothing of what was asked"
	require.Contains(t, driverFailures(t, program(t, "prints"), plugintest.Options{}.Only(check))[check],
		"the log repeats the request")
}

func TestStoppedProgramHasItsPrintsInTheLog(t *testing.T) {
	t.Parallel()
	running, err := program(t, "prints").Start()
	require.NoError(t, err)
	_, err = running.Client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{RiderName: "Asha"})
	require.NoError(t, err)
	require.NoError(t, running.Stop())
	require.True(t, strings.HasSuffix(string(running.Log()), " Asha\n"))
}

func TestHangingProgramIsEnded(t *testing.T) {
	t.Parallel()
	running, err := program(t, "compliant").Start()
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(running.PID, syscall.SIGSTOP))
	require.NoError(t, running.Stop())
	require.ErrorContains(t, running.Leftovers(), fmt.Sprintf("processes still run: %d", running.PID))
	require.ErrorIs(t, syscall.Kill(running.PID, 0), syscall.ESRCH)
}

func TestEndedProgramIsNotAmongItsLeftovers(t *testing.T) {
	t.Parallel()
	running, err := program(t, "inherits").Start()
	require.NoError(t, err)
	_, err = running.Client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
	require.NoError(t, err)
	require.NoError(t, running.Stop())
	left := running.Leftovers()
	require.Regexp(t, `^processes still run: \d+$`, left)
	require.NotEqual(t, fmt.Sprintf("processes still run: %d", running.PID), left.Error())
}

func TestLeftoversOfProgramsAreFound(t *testing.T) {
	t.Parallel()
	options := plugintest.Options{}.Only("duplicated and disordered rider updates")
	require.Empty(t, driverFailures(t, program(t, "compliant"), options))
	const check = "nothing is left behind"
	require.Contains(t, driverFailures(t, program(t, "forks"), options)[check], "processes still run: ")
	require.Contains(t, driverFailures(t, program(t, "inherits"), options)[check], "processes still run: ")
	require.Equal(t, "files are left in the working directory: riders",
		driverFailures(t, program(t, "writes"), options)[check])
	require.Equal(t, "files are left in the working directory: temporary-riders",
		driverFailures(t, program(t, "temporary"), options)[check])
	const drains = "draining refuses new calls and ends" // on another instance
	require.Contains(t, driverFailures(t, program(t, "forks"), plugintest.Options{}.Only(drains))[drains],
		"processes still run: ")
}

func TestProgramsMustServeOnUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plugin")
	script := "#!/bin/sh\necho '1|1|tcp|127.0.0.1:9|grpc'\nexec /bin/sleep 600\n"
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	_, err := plugintest.Subprocess(path, sdk.TransportSocket).Start()
	require.ErrorContains(t, err, "it listens at tcp 127.0.0.1:9: serve on a unix socket")
}
