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

// instance is a running process of a plugin, with its running calls.
type instance struct {
	parcel  parcel
	about   *sdk.Description
	client  *sdk.Client
	conn    *grpc.ClientConn
	process *process
	dir     string
	output  sync.WaitGroup

	hangs  chan hang     // receives after too many consecutive timeouts
	memory atomic.Uint64 // bytes, as last measured

	mu      sync.Mutex
	calls   int
	late    []asked // consecutive calls that timed out, except checks of items
	leaving bool
	idle    chan struct{} // closed when it is leaving and no call is running
}

// startBackstop ends go-plugin's wait even if the host's clock stands still.
const startBackstop = time.Minute

// launch verifies, starts and connects to a plugin. The instance has not answered any call yet. The context bounds
// the start: when it ends, the process is killed.
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
		err = errors.New("it did not serve in time")
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

// open starts the process through go-plugin, which learns its address and agrees on certificates. It then opens its
// own connection, because go-plugin's cannot be closed while the plugin is stopped.
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
	if address.Network() != "unix" ||
		!strings.HasPrefix(filepath.Clean(address.String()), i.dir+string(filepath.Separator)) {
		return fmt.Errorf("it listens at %s %s, outside its directory", address.Network(), address)
	}
	secure := insecure.NewCredentials()
	if config.AutoMTLS {
		if config.TLSConfig.RootCAs == nil {
			return sdk.ErrNoTLS
		}
		secure = credentials.NewTLS(config.TLSConfig)
	}
	options := append(sdk.DialOptions(), grpc.WithTransportCredentials(secure), grpc.WithIdleTimeout(0),
		grpc.WithStatsHandler(replies{}),
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

// whyNot returns the process's exit status, if there is one, rather than go-plugin's error.
func (i *instance) whyNot(guess error) error {
	select {
	case <-i.process.ended:
		return fmt.Errorf("it exited before it served (%s)", i.process.last())
	default:
	}
	return errors.New(shorten(sdk.StartFault(guess).Error(), longestFault))
}

// examine checks a started plugin: its description against its manifest, one call, and its health.
func (i *instance) examine(ctx context.Context) error {
	about, err := i.client.Describe(ctx)
	if err != nil {
		return fmt.Errorf("its Describe failed: %s", plain(err))
	}
	if err := errors.Join(sdk.CheckDescription(about), i.parcel.manifest.Matches(about)); err != nil {
		return fmt.Errorf("its description differs from its manifest: %s", inOneLine(err))
	}
	i.about = about
	i.measure()
	if _, err := i.client.Configure(ctx, &sdk.Call{}); err != nil && !sdk.IsRefusal(err) {
		return fmt.Errorf("its Configure failed: %s", plain(err))
	}
	return i.serving(ctx)
}

// serving checks the plugin's health. It returns an error if the plugin does not serve.
func (i *instance) serving(ctx context.Context) error {
	health, err := i.client.CheckHealth(ctx)
	switch {
	case ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded:
		return errors.New("it did not report its health in time")
	case err != nil:
		return fmt.Errorf("its health check failed: %s", plain(err))
	case health.GetState() == pb.HealthState_HEALTH_STATE_SERVING:
		return nil
	case health.GetState() == pb.HealthState_HEALTH_STATE_DEGRADED:
		return degraded(health.GetMessage())
	default:
		return fmt.Errorf("it reports that it does not serve (%s)", health.GetState())
	}
}

// degraded is the health of a plugin that serves but reports a problem.
type degraded string

// Error returns the plugin's message.
func (d degraded) Error() string { return "it reports that it is degraded: " + string(d) }

// begin counts a call. It returns false if the instance is leaving.
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

// leave rejects further calls. The channel is closed when the running ones have ended.
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

// inTime resets the count of consecutive timeouts.
func (i *instance) inTime() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.late = nil
}

// tooLate counts a timeout, and reports a fault after too many in a row.
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

// hang is the fault of a plugin whose calls time out. The plugin is restarted in any case. Retries of a single call
// do not count toward quarantine, because one bad call must not stop all others.
type hang struct{ one bool }

// Error states the number of calls.
func (h hang) Error() string {
	if h.one {
		return fmt.Sprintf("it timed out in %d consecutive calls, all retries of one", mostLate)
	}
	return fmt.Sprintf("it timed out in %d consecutive calls", mostLate)
}

// measure returns the memory of the plugin and its children, in bytes.
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

// end kills the process and all it started, and waits for their end. Running calls fail.
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
