package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	installed   installedPlugin
	description *sdk.Description
	client      *sdk.Client
	conn        *grpc.ClientConn
	process     *process
	dir         string
	programFile fs.FileInfo // of the verified copy in dir
	output      sync.WaitGroup

	hung   chan *fault   // receives after too many consecutive timeouts
	broken chan struct{} // receives when a call was lost with the connection
	memory atomic.Uint64 // bytes, as last measured
	watch  Watch         // nil: none

	mu       sync.Mutex
	calls    int
	timeouts []callRecord // consecutive calls that timed out, except checks of items
	draining bool
	idle     chan struct{} // closed when it is draining and no call is running

	lost         []lostCall      // calls that were lost with the process
	lostTogether int             // calls under way when the first was lost
	abandoned    []abandonedCall // the oldest first
	retired      bool            // the hub ends the process on purpose
	killedFor    string          // why the hub killed the process; "": it was not killed for a fault
}

// maxStartWait ends go-plugin's wait even if the host's clock stands still.
const maxStartWait = time.Minute

// launch verifies, starts and connects to a plugin. It makes no call. The context bounds the start: when it ends, the
// process is killed.
func (h *Host) launch(ctx context.Context, p installedPlugin, log *logBuffer, enter func(State)) (*instance, error) {
	dir, err := h.runtimeDir.newSubdir()
	if err != nil {
		return nil, err
	}
	i := &instance{installed: p, dir: dir, hung: make(chan *fault, 1), broken: make(chan struct{}, 1),
		idle: make(chan struct{})}
	if h.config.Watcher != nil {
		i.watch = h.config.Watcher.Watch(p.manifest.ID)
		log.show(i.watch)
	}
	program, err := copyVerified(p.program, dir, p.digest)
	if err == nil {
		i.programFile, err = os.Lstat(program)
	}
	if err != nil {
		i.endWatch(log)
		_ = os.RemoveAll(dir)
		return nil, err
	}
	enter(Verified)
	enter(Starting)
	i.process = &process{
		program: program, memory: p.memory, log: log, logStart: log.written(), ended: make(chan struct{}),
		hidden: h.hidden, noIsolation: h.config.NoIsolation,
	}
	started := make(chan error, 1)
	go func() { started <- i.connect(log) }()
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
		i.terminate()
		return nil, err
	}
	h.warnUnisolated(i.process)
	return i, nil
}

// connect starts the process through go-plugin, which learns its address and agrees on certificates. It then opens its
// own connection, because go-plugin's cannot be closed while the plugin is stopped.
func (i *instance) connect(log *logBuffer) error {
	config := sdk.HostConfig()
	config.AutoMTLS = i.installed.manifest.Transport != sdk.TransportSocket
	config.StartTimeout = maxStartWait
	config.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: i.dir}
	config.RunnerFunc = func(_ hclog.Logger, like *exec.Cmd, _ string) (goplugin.Runner, error) {
		cmd, err := i.process.prepare(like, i.dir)
		return runner{i.process, cmd}, err
	}
	address, err := plugin.NewClient(config).Start()
	if err != nil {
		return i.startError(err)
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
		grpc.WithStatsHandler(replyHandler{}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address.String())
		}))
	if i.watch != nil {
		options = append(options, grpc.WithStatsHandler(watchHandler{i.watch}))
	}
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

// startError returns the process's exit status, if it ran and ended, rather than go-plugin's error.
func (i *instance) startError(guess error) error {
	if errors.Is(guess, fs.ErrPermission) {
		return guess
	}
	select {
	case <-i.process.ended:
		return fmt.Errorf("it exited before it served (%s)", i.process.exitReason())
	default:
	}
	return errors.New(sdk.Truncate(sdk.ExplainStartError(guess).Error(), maxFaultText))
}

// checkStarted checks a started plugin: its description against its manifest, one call, and its health.
func (i *instance) checkStarted(ctx context.Context) error {
	about, err := i.client.Describe(ctx)
	if err != nil {
		return fmt.Errorf("its Describe failed: %s", errorMessage(err))
	}
	if err := errors.Join(sdk.CheckDescription(about), i.installed.manifest.Matches(about)); err != nil {
		return fmt.Errorf("its description differs from its manifest: %s", oneLine(err))
	}
	i.description = about
	i.measureMemory()
	if _, err := i.client.Configure(ctx, &sdk.Call{}); err != nil && !sdk.IsRefusal(err) {
		return fmt.Errorf("its Configure failed: %s", errorMessage(err))
	}
	return i.checkHealth(ctx)
}

// checkHealth checks the plugin's health. It returns an error if the plugin does not serve.
func (i *instance) checkHealth(ctx context.Context) error {
	health, err := i.client.CheckHealth(ctx)
	switch {
	case ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded:
		return errors.New("it did not report its health in time")
	case err != nil:
		return fmt.Errorf("its health check failed: %s", errorMessage(err))
	case health.GetState() == pb.HealthState_HEALTH_STATE_SERVING:
		return nil
	case health.GetState() == pb.HealthState_HEALTH_STATE_DEGRADED:
		return degradedError(health.GetMessage())
	default:
		return fmt.Errorf("it reports that it does not serve (%s)", health.GetState())
	}
}

// degradedError is the health of a plugin that serves but reports a problem.
type degradedError string

// Error returns the plugin's message.
func (d degradedError) Error() string { return "it reports that it is degraded: " + string(d) }

// beginCall counts a call. It returns false if the instance is draining.
func (i *instance) beginCall() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.draining {
		return false
	}
	i.calls++
	return true
}

func (i *instance) endCall() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls--; i.draining && i.calls == 0 {
		close(i.idle)
	}
}

// startDraining rejects further calls. The channel is closed when the running ones have ended.
func (i *instance) startDraining() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.draining {
		i.draining = true
		if i.calls == 0 {
			close(i.idle)
		}
	}
	return i.idle
}

// resetTimeouts resets the count of consecutive timeouts.
func (i *instance) resetTimeouts() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timeouts = nil
}

// recordTimeout counts a timeout, and reports a fault after too many in a row.
func (i *instance) recordTimeout(call callRecord) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timeouts = append(i.timeouts, call); len(i.timeouts) < maxTimeouts {
		return
	}
	select {
	case i.hung <- hungFault(len(slices.Compact(slices.Clone(i.timeouts))) == 1):
	default:
	}
}

// hungFault returns the fault of a plugin whose calls time out. The plugin is restarted in any case. Retries of a
// single call do not count toward quarantine, because one bad call must not stop all others.
func hungFault(sameCall bool) *fault {
	text := fmt.Sprintf("it timed out in %d consecutive calls", maxTimeouts)
	if sameCall {
		text += ", all retries of one"
	}
	return &fault{kind: FaultDeadline, text: text, ended: true, repeat: sameCall}
}

// measureMemory returns the memory of the plugin and its children, in bytes.
func (i *instance) measureMemory() uint64 {
	used := i.process.memoryInUse()
	i.memory.Store(used)
	return used
}

func (i *instance) inFlight() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls
}

// terminate kills the process and all it started, and waits for their end. Running calls fail.
func (i *instance) terminate() {
	i.process.kill()
	if i.process.started() {
		<-i.process.ended
		if i.process.left {
			killInDir(i.dir)
		}
	}
	if i.conn != nil {
		_ = i.conn.Close()
	}
	i.output.Wait()
	i.endWatch(i.process.log)
	if err := removePluginDir(i.dir); err != nil {
		i.process.log.log.Warn("directory of a plugin process cannot be removed", "dir", i.dir, "error", err)
	}
}

// endWatch ends the watch of the instance, if there is one.
func (i *instance) endWatch(log *logBuffer) {
	if i.watch != nil {
		log.hide(i.watch)
		i.watch.Close()
	}
}
