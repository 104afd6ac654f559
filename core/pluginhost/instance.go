package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	goplugin "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// instance is one process of a plugin that is served from, and the calls under
// way in it.
type instance struct {
	parcel  parcel
	about   *sdk.Description
	client  *sdk.Client
	conn    *grpc.ClientConn
	process *process
	dir     string
	output  sync.WaitGroup

	hangs  chan hang     // receives once too many calls in a row were late
	memory atomic.Uint64 // bytes, as last measured

	mu      sync.Mutex
	calls   int
	late    []asked // the calls in a row that were not answered in time, checks of items apart
	leaving bool
	idle    chan struct{} // closed once it is leaving and no call is under way
}

// startBackstop ends go-plugin's waiting where the clock of the host stands still.
const startBackstop = time.Minute

// launch verifies, starts and reaches a plugin. What it returns has answered
// nothing yet. The context bounds the start; when it ends the process is killed.
func (h *Host) launch(ctx context.Context, p parcel, log *logbook, enter func(State)) (*instance, error) {
	dir, err := h.den.room()
	if err != nil {
		return nil, err
	}
	i := &instance{parcel: p, dir: dir, hangs: make(chan hang, 1), idle: make(chan struct{})}
	program, err := copyVerified(p.program, dir, p.digest)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	enter(Verified)
	enter(Starting)
	i.process = &process{
		program: program, memory: p.memory, log: log, logged: log.written(), ended: make(chan struct{}),
		hidden: append([]string{h.den.dir}, h.config.Hidden...), plain: h.config.Plain,
	}
	started := make(chan error, 1)
	go func() { started <- i.open(log) }()
	select {
	case err = <-started:
	case <-ctx.Done():
		i.process.kill()
		<-started
		err = errors.New("it did not begin to serve in time")
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		i.end()
		return nil, err
	}
	h.warnOfPlain(i.process)
	return i, nil
}

// open starts the process by go-plugin, which finds out where it listens and
// agrees with it on certificates, and connects to it. The connection is ours:
// go-plugin's own cannot be closed while the plugin is stopped.
func (i *instance) open(log *logbook) error {
	config := sdk.HostConfig()
	config.AutoMTLS = i.parcel.manifest.Transport != sdk.TransportSocket
	config.StartTimeout = startBackstop
	config.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: i.dir}
	config.RunnerFunc = func(_ hclog.Logger, like *exec.Cmd, _ string) (goplugin.Runner, error) {
		cmd, err := i.process.prepare(like, i.dir)
		return runner{i.process, cmd}, err
	}
	address, err := plugin.NewClient(config).Start()
	if err != nil {
		return i.whyNot(err)
	}
	if address.Network() != "unix" || !strings.HasPrefix(filepath.Clean(address.String()), i.dir+string(filepath.Separator)) {
		return fmt.Errorf("it listens at %s %s, outside of the directory it was given", address.Network(), address)
	}
	secure := insecure.NewCredentials()
	if config.AutoMTLS {
		if config.TLSConfig.RootCAs == nil {
			return sdk.ErrNoTLS
		}
		secure = credentials.NewTLS(config.TLSConfig)
	}
	options := append(sdk.DialOptions(), grpc.WithTransportCredentials(secure), grpc.WithIdleTimeout(0), grpc.WithStatsHandler(replies{}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address.String())
		}))
	if i.conn, err = grpc.NewClient("passthrough:plugin", options...); err != nil {
		return err
	}
	i.client = sdk.NewClient(i.conn)
	i.output.Add(1)
	go func() {
		defer i.output.Done()
		copyOutput(i.conn, log)
	}()
	return nil
}

// whyNot prefers what the system says of the process to what go-plugin guesses.
func (i *instance) whyNot(guess error) error {
	select {
	case <-i.process.ended:
		return fmt.Errorf("it ended before it served (%s)", i.process.last())
	default:
	}
	return errors.New(shorten(sdk.StartFault(guess).Error(), longestFault))
}

// examine asks a started plugin what it is and holds that against its manifest,
// checks that it answers a question and that it serves.
func (i *instance) examine(ctx context.Context) error {
	about, err := i.client.Describe(ctx)
	if err != nil {
		return fmt.Errorf("it did not describe itself: %s", plain(err))
	}
	if err := errors.Join(sdk.CheckDescription(about), i.parcel.manifest.Matches(about)); err != nil {
		return fmt.Errorf("its description is not what its manifest says: %s", inOneLine(err))
	}
	i.about = about
	i.measure()
	if _, err := i.client.Configure(ctx, &sdk.Call{}); err != nil && !sdk.IsRefusal(err) {
		return fmt.Errorf("it did not check settings: %s", plain(err))
	}
	return i.serving(ctx)
}

// serving asks for the plugin's health. An error is a plugin that does not serve.
func (i *instance) serving(ctx context.Context) error {
	health, err := i.client.CheckHealth(ctx)
	switch {
	case ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded:
		return errors.New("it did not tell its health in time")
	case err != nil:
		return fmt.Errorf("it did not tell its health: %s", plain(err))
	case health.GetState() == pb.HealthState_HEALTH_STATE_SERVING:
		return nil
	case health.GetState() == pb.HealthState_HEALTH_STATE_DEGRADED:
		return degraded(health.GetMessage())
	default:
		return fmt.Errorf("it says that it does not serve (%s)", health.GetState())
	}
}

// degraded is the health of a plugin that serves, and says that something is wrong.
type degraded string

// Error is what the plugin says.
func (d degraded) Error() string { return "it says that it is degraded: " + string(d) }

// begin counts a call; false when the instance is leaving.
func (i *instance) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leaving {
		return false
	}
	i.calls++
	return true
}

func (i *instance) done() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls--; i.leaving && i.calls == 0 {
		close(i.idle)
	}
}

// leave begins no more calls; the channel is closed when those under way have ended.
func (i *instance) leave() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.leaving {
		i.leaving = true
		if i.calls == 0 {
			close(i.idle)
		}
	}
	return i.idle
}

// inTime ends a row of late calls.
func (i *instance) inTime() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.late = nil
}

// tooLate counts the calls in a row that were not answered in time.
func (i *instance) tooLate(call asked) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.late = append(i.late, call); len(i.late) < mostLate {
		return
	}
	select {
	case i.hangs <- hang{one: len(slices.Compact(slices.Clone(i.late))) == 1}:
	default:
	}
}

// hang is the fault of a plugin that leaves calls unanswered. It is started again in any
// case; where they were repeats of one call, that one has no part in putting it in
// quarantine, for all others.
type hang struct{ one bool }

// Error says how many calls it were.
func (h hang) Error() string {
	if h.one {
		return fmt.Sprintf("it did not answer %d calls in a row in time, all of them repeats of one", mostLate)
	}
	return fmt.Sprintf("it did not answer %d calls in a row in time", mostLate)
}

// measure tells what memory the plugin and what it started have in use, in bytes.
func (i *instance) measure() uint64 {
	used := i.process.resident()
	i.memory.Store(used)
	return used
}

func (i *instance) underWay() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls
}

// end kills the process and returns when nothing of it is left. Calls under way fail.
func (i *instance) end() {
	i.process.kill()
	if i.process.started() {
		<-i.process.ended
		killFrom(i.dir)
	}
	if i.conn != nil {
		_ = i.conn.Close()
	}
	i.output.Wait()
	_ = os.RemoveAll(i.dir)
}
