package sdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Name is the name under which a plugin of any protocol version is dispensed.
const Name = "servery"

// StdinHeld is the environment variable by which a host promises to hold the
// plugin's standard input open: with the value 1, its end is the host's end.
const StdinHeld = "SERVERY_PLUGIN_STDIN_HELD"

// StartTimeout is how long a program may take from its start until it serves.
const StartTimeout = 10 * time.Second

// Handshake keeps other programs from being taken for plugins. It is no secret.
var Handshake = plugin.HandshakeConfig{MagicCookieKey: "SERVERY_PLUGIN", MagicCookieValue: "e9d4c3f0-hub-and-plugin"}

// VersionedPlugins is what a host accepts: one set for each protocol version.
// The dispensed value is a *Client.
func VersionedPlugins() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Protocol: {Name: grpcPlugin{}}}
}

// DialOptions bound what a host accepts of a plugin, and send the trace along.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithChainUnaryInterceptor(traceUnary), grpc.WithChainStreamInterceptor(traceStream),
	}
}

// HostConfig is the part of go-plugin's configuration that hosts have in
// common. The caller adds Cmd, RunnerFunc or Reattach, and Stderr: go-plugin's
// own reading of the log is off, because a line whose @message is no string
// makes it panic.
func HostConfig() *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig: Handshake, VersionedPlugins: VersionedPlugins(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, GRPCDialOptions: DialOptions(),
		SkipHostEnv: true, AutoMTLS: true,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	}
}

// ExplainStartError says in an author's words why go-plugin could not begin to speak with a
// program: the first line of its error, or what is known of that.
func ExplainStartError(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	said, printed := strings.CutPrefix(line, "Unrecognized remote plugin message: ")
	switch {
	case printed && said == "":
		return errors.New("it printed no handshake (1|1|unix|SOCKET|grpc)")
	case printed:
		return fmt.Errorf("its first line must be a handshake (1|1|unix|SOCKET|grpc), not: %s", said)
	case strings.Contains(line, "incompatible API version"):
		return fmt.Errorf("its handshake has another protocol than %d, the only one of this hub (%s)",
			Protocol, line)
	case strings.HasPrefix(line, "fork/exec ") && errors.Is(err, fs.ErrNotExist):
		return errors.New("it cannot run here: its interpreter or loader is not on this system")
	}
	return errors.New(line)
}

// ErrNoTLS is the fault of a program that did not show a certificate to go-plugin.
var ErrNoTLS = errors.New(
	"it does not speak go-plugin's TLS: set `transport: socket` in its manifest (--transport socket)")

// grpcPlugin joins a Server or a Client to go-plugin.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *Server
}

// GRPCServer registers the services in the plugin.
func (w grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	w.server.Register(s)
	return nil
}

// GRPCClient makes the client in the host.
func (w grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// ServeConfig is go-plugin's configuration for serving; stop, when it is not
// nil, is told how to end the server once there is one.
func (s *Server) ServeConfig(stop func(func())) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{Protocol: {Name: grpcPlugin{server: s}}},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Error}), // why it cannot serve
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			server := grpc.NewServer(append(options, s.Options()...)...)
			if stop != nil {
				stop(server.Stop)
			}
			return server
		},
	}
}
