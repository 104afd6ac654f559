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

// Name is the name of the plugin in go-plugin's plugin sets, for every protocol version.
const Name = "servery"

// StdinHeld is an environment variable. With the value 1, the host holds the plugin's standard input open. The end of
// input then means that the host has ended.
const StdinHeld = "SERVERY_PLUGIN_STDIN_HELD"

// StartTimeout is the maximum time from the start of a program until it serves.
const StartTimeout = 10 * time.Second

// Handshake distinguishes plugins from other programs. It is not a secret.
var Handshake = plugin.HandshakeConfig{MagicCookieKey: "SERVERY_PLUGIN", MagicCookieValue: "e9d4c3f0-hub-and-plugin"}

// VersionedPlugins returns the plugin sets that a host accepts, by protocol version. The dispensed value is a
// *Client.
func VersionedPlugins() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Protocol: {Name: grpcPlugin{}}}
}

// DialOptions returns the options of a host's connection: bounds of messages and trace propagation.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage),
			grpc.ForceCodecV2(newBoundedCodec())),
		grpc.WithChainUnaryInterceptor(traceUnary, limitResult), grpc.WithChainStreamInterceptor(traceStream),
	}
}

// HostConfig returns the part of go-plugin's configuration that all hosts share. The caller adds Cmd, RunnerFunc or
// Reattach, and Stderr. go-plugin's log parser is off: it panics on a line whose @message is not a string.
func HostConfig() *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig: Handshake, VersionedPlugins: VersionedPlugins(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, GRPCDialOptions: DialOptions(),
		SkipHostEnv: true, AutoMTLS: true,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	}
}

// ExplainStartError rewrites go-plugin's error about the start of a program for plugin authors. The result is one
// line.
func ExplainStartError(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	output, printed := strings.CutPrefix(line, "Unrecognized remote plugin message: ")
	switch {
	case printed && output == "":
		return errors.New("it printed no handshake (1|1|unix|SOCKET|grpc)")
	case printed:
		return fmt.Errorf("its first line must be a handshake (1|1|unix|SOCKET|grpc), not: %s", output)
	case strings.Contains(line, "incompatible API version"):
		return fmt.Errorf("its handshake has another protocol than %d, the only one of this hub (%s)",
			Protocol, line)
	case strings.HasPrefix(line, "fork/exec ") && errors.Is(err, fs.ErrNotExist):
		return errors.New("it cannot run here: its interpreter or loader is not on this system")
	}
	return errors.New(line)
}

// ErrNoTLS is returned for a program that presented no certificate to go-plugin.
var ErrNoTLS = errors.New(
	"it does not speak go-plugin's TLS: set `transport: socket` in its manifest (--transport socket)")

// grpcPlugin connects a Server or a Client to go-plugin (plugin.GRPCPlugin).
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *Server
}

// GRPCServer registers the services in the plugin.
func (w grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	w.server.Register(s)
	return nil
}

// GRPCClient returns the client in the host.
func (w grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// ServeConfig returns go-plugin's configuration for serving. If stop is not nil, it receives the function that stops
// the server.
func (s *Server) ServeConfig(stop func(func())) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{Protocol: {Name: grpcPlugin{server: s}}},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Error}), // errors that prevent serving
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			server := grpc.NewServer(append(options, s.Options()...)...)
			if stop != nil {
				stop(server.Stop)
			}
			return server
		},
	}
}
