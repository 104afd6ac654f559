// Package plugintest is the conformance suite of plugins. It runs the same checks on a plugin in the test's process,
// over go-plugin by reattaching, and as a separate program. It needs neither a hub nor a database.
//
//	func TestPlugin(t *testing.T) {
//		plugintest.Run(t, plugintest.InProcess(plugin{}), plugintest.Options{Golden: "testdata"})
//	}
package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Driver starts a plugin in one way.
type Driver interface {
	Name() string
	// Start starts a separate instance, which ends with Stop.
	Start() (*Running, error)
}

// Running is a started plugin.
type Running struct {
	Client *sdk.Client
	PID    int      // of a separate program; otherwise 0
	memory uint64   // memory limit in bytes; 0: none
	left   []string // processes of a stopped program's group; the program itself if it did not end
	files  []string // in the directory of a stopped program, beside it
	log    *logBuffer
	stop   func() error
}

// Stop stops the plugin and returns when it has ended.
func (r *Running) Stop() error { return r.stop() }

// leftovers checks that the processes of a stopped program have ended, and that it left no files in its directory.
func (r *Running) leftovers() error {
	if len(r.left) > 0 {
		return fmt.Errorf("processes still run: %s", strings.Join(r.left, ", "))
	}
	if len(r.files) > 0 {
		return fmt.Errorf("files are left in the working directory: %s", strings.Join(r.files, ", "))
	}
	return nil
}

// Log returns what the plugin has logged so far.
func (r *Running) Log() []byte { return r.log.bytes() }

// WriteLog writes what the plugin has logged so far, each line after a prefix.
func (r *Running) WriteLog(to io.Writer, prefix string) {
	for line := range bytes.Lines(r.Log()) {
		fmt.Fprintf(to, "%s%s\n", prefix, bytes.TrimRight(line, "\r\n"))
	}
}

func newServer(p sdk.Plugin, log *logBuffer) (*sdk.Server, error) {
	return sdk.NewServer(p, slog.New(sdk.NewLogHandler(log, slog.LevelDebug)))
}

// InProcess returns a driver that runs the plugin in this process, over gRPC without a network.
func InProcess(p sdk.Plugin) Driver { return inProcess{p} }

type inProcess struct{ plugin sdk.Plugin }

// Name returns the name of the driver.
func (inProcess) Name() string { return "in process" }

// Start serves the plugin.
func (d inProcess) Start() (*Running, error) {
	log := &logBuffer{}
	services, err := newServer(d.plugin, log)
	if err != nil {
		return nil, err
	}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(services.Options()...)
	services.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	options := append(sdk.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return listener.DialContext(ctx)
		}))
	conn, err := grpc.NewClient("passthrough:plugin", options...)
	if err != nil {
		server.Stop()
		return nil, errors.Join(err, <-served)
	}
	return &Running{Client: sdk.NewClient(conn), log: log, stop: func() error {
		err := conn.Close()
		server.Stop()
		return errors.Join(err, <-served)
	}}, nil
}

// Reattach returns a driver that serves the plugin in this process over go-plugin, and reattaches to it.
func Reattach(p sdk.Plugin) Driver { return reattach{p} }

type reattach struct{ plugin sdk.Plugin }

// Name returns the name of the driver.
func (reattach) Name() string { return "by reattach" }

// Start serves the plugin and reattaches.
func (d reattach) Start() (*Running, error) {
	log := &logBuffer{}
	services, err := newServer(d.plugin, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	attach, ended := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	serving := services.ServeConfig(nil)
	serving.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: attach, CloseCh: ended}
	go plugin.Serve(serving)
	config := sdk.HostConfig()
	select {
	case config.Reattach = <-attach:
	case <-ended:
		cancel()
		return nil, errors.New("go-plugin did not serve the plugin")
	}
	config.AutoMTLS = false
	config.Plugins = config.VersionedPlugins[sdk.Protocol]
	config.Reattach.ReattachFunc = func() (runner.AttachedRunner, error) { return attached{ended: ended}, nil }
	host := plugin.NewClient(config)
	running, err := dispense(host, log)
	if err != nil {
		cancel()
		<-ended
		return nil, err
	}
	running.stop = func() error {
		defer cancel()
		protocol, err := host.Client()
		if err == nil {
			err = protocol.Close() // cancelling at the same time is a race in go-plugin
		}
		if err != nil {
			cancel()
		}
		<-ended
		return err
	}
	return running, nil
}

// attached is a plugin in this process (runner.AttachedRunner).
type attached struct{ ended <-chan struct{} }

// Wait waits for the end of the plugin.
func (a attached) Wait(context.Context) error {
	<-a.ended
	return nil
}

// Kill does nothing, because the driver ends the plugin.
func (a attached) Kill(context.Context) error { return nil }

// ID returns an id for messages.
func (a attached) ID() string { return "this process" }

// PluginToHost returns the address unchanged.
func (a attached) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin returns the address unchanged.
func (a attached) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

func dispense(host *plugin.Client, log *logBuffer) (*Running, error) {
	protocol, err := host.Client()
	if err != nil {
		return nil, err
	}
	client, err := protocol.Dispense(sdk.Name)
	if err != nil {
		return nil, errors.Join(err, protocol.Close())
	}
	return &Running{Client: client.(*sdk.Client), log: log}, nil
}

// Subprocess returns a driver that runs a copy of a program. As in a hub, it has no network if the system allows
// namespaces. The transport is sdk.TransportMTLS or sdk.TransportSocket. With limits, the program must respect them.
func Subprocess(path, transport string, limits ...sdk.ManifestLimits) Driver {
	return subprocess{path, transport, limits}
}

type subprocess struct {
	path, transport string
	limits          []sdk.ManifestLimits
}

// Name returns the name of the driver.
func (subprocess) Name() string { return "as a program" }

// Start runs the program.
func (d subprocess) Start() (*Running, error) {
	alone, err := os.MkdirTemp("", "plugintest-")
	if err != nil {
		return nil, err
	}
	running, err := d.from(alone)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(alone))
	}
	end := running.stop
	running.stop = func() error {
		err := end()
		running.left = append(running.left, endGroup(running.PID)...)
		entries, _ := os.ReadDir(alone) // RemoveAll returns its error
		for _, entry := range entries {
			// a hub removes the socket of a plugin that was killed
			if entry.Name() != filepath.Base(d.path) && entry.Type()&fs.ModeSocket == 0 {
				running.files = append(running.files, entry.Name())
			}
		}
		return errors.Join(err, os.RemoveAll(alone))
	}
	return running, nil
}

// from runs a copy of the program in an empty directory.
func (d subprocess) from(alone string) (*Running, error) {
	path := filepath.Join(alone, filepath.Base(d.path))
	if err := copyProgram(d.path, path); err != nil {
		return nil, err
	}
	log := &logBuffer{}
	running, err := d.run(path, log, processAttributes(true))
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) && failed.Op == "fork/exec" {
		running, err = d.run(path, log, processAttributes(false)) // without namespaces, which not all systems allow
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", d.path, sdk.ExplainStartError(err), log.bytes())
	}
	return running, nil
}

// run runs a program in its directory.
func (d subprocess) run(path string, log *logBuffer, attributes *syscall.SysProcAttr) (*Running, error) {
	config := sdk.HostConfig()
	config.Cmd = exec.Command(path)
	dir := filepath.Dir(path)
	config.Cmd.Dir, config.Cmd.Env, config.Cmd.SysProcAttr = dir, []string{"TMPDIR=" + dir}, attributes // as in a hub
	var memory uint64
	for _, l := range d.limits {
		memory = l.Memory()
		config.Cmd.Env = append(config.Cmd.Env, "GOMEMLIMIT="+strconv.FormatUint(memory, 10))
	}
	config.AutoMTLS = d.transport != sdk.TransportSocket
	config.Stderr, config.SyncStdout, config.SyncStderr, config.StartTimeout = log, log, log, sdk.StartTimeout
	host := plugin.NewClient(config)
	running, err := startOnSocket(host, log)
	if err == nil && config.AutoMTLS && config.TLSConfig.RootCAs == nil {
		err = sdk.ErrNoTLS
	}
	if err != nil {
		end(host, config.Cmd.Process, nil)
		return nil, err
	}
	running.PID, running.memory = config.Cmd.Process.Pid, memory
	conn := running.Client.Conn()
	running.stop = func() error {
		log.settle(conn) // the end of the program cuts off the stream of its prints
		running.left = end(host, config.Cmd.Process, conn)
		return nil
	}
	return running, nil
}

// killTimeout is how long a program has to end before its group is killed.
const killTimeout = 3 * time.Second

// end ends a program. Kill of go-plugin waits for a process that does not respond, and for children that have its
// standard output. After a time, end kills the group. It returns the ids of the children, and that of the program if
// it has not responded: Kill closes the connection when it has.
func end(host *plugin.Client, program *os.Process, conn grpc.ClientConnInterface) (left []string) {
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		close(begun)
		host.Kill()
		close(ended)
	}()
	<-begun
	select {
	case <-ended:
		return nil
	case <-time.After(killTimeout):
	}
	open, is := conn.(*grpc.ClientConn)
	responded := is && open.GetState() == connectivity.Shutdown
	if program != nil {
		left = killGroup(program)
		if !responded {
			left = append(left, strconv.Itoa(program.Pid))
		}
	}
	<-ended
	return left
}

// startOnSocket starts a program, which must serve on a unix socket.
func startOnSocket(host *plugin.Client, log *logBuffer) (*Running, error) {
	address, err := host.Start()
	if err != nil {
		return nil, err
	}
	if address.Network() != "unix" {
		return nil, fmt.Errorf("it listens at %s %s: serve on a unix socket", address.Network(), address)
	}
	return dispense(host, log)
}

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	syscall.ForkLock.RLock() // a process forked now would hold the file open for writing, and it could not run
	defer syscall.ForkLock.RUnlock()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
