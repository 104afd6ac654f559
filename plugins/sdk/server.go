package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of the protocol, in bytes.
const (
	MaxMessage = 16 << 20 // of a message
	MaxResult  = 2 << 20  // of a result that is not about a menu, or about the availability of its items
)

// maxCallTime is the deadline of a call that has none.
const maxCallTime = time.Minute

// Server serves the protocol for one plugin.
type Server struct {
	plugin      Plugin
	description *Description
	settings    schemaChecker
	parameters  map[string]schemaChecker // by action
	log         *slog.Logger
	calls       *inFlight
}

// NewServer returns a server for a plugin. It returns an error if the plugin's description or a schema in it is
// invalid. Calls log to the logger.
func NewServer(p Plugin, log *slog.Logger) (*Server, error) {
	about, err := describe(p)
	if err != nil {
		return nil, err
	}
	settings, err := newSchemaChecker(settingsField, about.SettingsSchema)
	if err != nil {
		return nil, err
	}
	s := &Server{plugin: p, description: about, settings: settings, parameters: map[string]schemaChecker{}, log: log,
		calls: newInFlight()}
	for _, offer := range about.GetActions() {
		s.parameters[offer.GetName()], err = newSchemaChecker(parametersField, offer.GetParametersSchema())
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// describe returns the description of a plugin with protocol and capabilities filled in.
func describe(p Plugin) (about *Description, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("Describe panicked: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	about, err = p.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("Describe: %w", err)
	}
	about = proto.CloneOf(about)
	about.Protocol, about.Capabilities = Protocol, Capabilities(p)
	return about, CheckDescription(about)
}

// Options returns the options for the gRPC server on which the services are registered.
func (s *Server) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.ChainUnaryInterceptor(s.unary), grpc.ChainStreamInterceptor(s.stream),
	}
}

// Register adds the protocol's services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	pb.RegisterPluginServer(r, pluginService{s: s})
	pb.RegisterMenuServer(r, menuService{s: s})
	pb.RegisterOrdersServer(r, ordersService{s: s})
	pb.RegisterRidersServer(r, ridersService{s: s})
	pb.RegisterActionsServer(r, actionsService{s: s})
	pb.RegisterAvailabilityServer(r, availabilityService{s: s})
	pb.RegisterPollsServer(r, pollsService{s: s})
}

const (
	servicePrefix       = "/servery.plugin.v1."
	pluginServicePrefix = servicePrefix + "Plugin/"
)

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	handle grpc.UnaryHandler) (reply any, err error) {
	err = s.runCall(ctx, info.FullMethod, func(ctx context.Context) (err error) {
		reply, err = handle(ctx, req)
		return err
	})
	return reply, err
}

func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handle grpc.StreamHandler) error {
	return s.runCall(stream.Context(), info.FullMethod, func(ctx context.Context) error {
		return handle(srv, contextStream{stream, ctx})
	})
}

// runCall runs one call with a count, a deadline, the trace and a logger. It converts a panic into an error. Calls of
// go-plugin's own services pass unchanged.
func (s *Server) runCall(ctx context.Context, method string, call func(context.Context) error) (err error) {
	if !strings.HasPrefix(method, servicePrefix) {
		return call(ctx)
	}
	if !strings.HasPrefix(method, pluginServicePrefix) {
		if !s.calls.begin() {
			return status.Error(codes.Unavailable, "the plugin is being drained")
		}
		defer s.calls.end()
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxCallTime)
		defer cancel()
	}
	ctx = incoming(ctx)
	log := s.log.With("call", strings.ReplaceAll(strings.TrimPrefix(method, servicePrefix), "/", "."))
	if id := traceID(Traceparent(ctx)); id != "" {
		log = log.With("trace_id", id)
	}
	defer func() {
		if r := recover(); r != nil {
			stack, text := string(debug.Stack()), MaskPersonal(fmt.Sprint(r))
			log.Error("plugin panicked", "panic", text, "stack", stack)
			_ = grpc.SetTrailer(ctx, metadata.Pairs(StackTrailer, panicStack(stack)))
			err = status.Error(codes.Internal, PanicPrefix+text)
		}
	}()
	return statusError(ctx, call(context.WithValue(ctx, loggerKey{}, log)))
}

// PanicPrefix begins the message of a call that panicked.
const PanicPrefix = "the plugin panicked: "

// StackTrailer is the trailer with the stack of a call that panicked.
const StackTrailer = "servery-stack-bin"

// maxStack bounds the stack in a trailer, in bytes.
const maxStack = 3 << 10

// panicStack returns the stack of a panic without the frames that handle it.
func panicStack(stack string) string {
	first, rest, _ := strings.Cut(stack, "\n")
	if _, after, found := strings.Cut(rest, "\npanic("); found {
		lines := strings.SplitN(after, "\n", 3) // the rest of the line, its position, and what panicked
		rest = lines[len(lines)-1]
	}
	text := first + "\n" + rest
	return text[:min(len(text), maxStack)]
}

// contextStream is a stream with a replaced context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context of the call.
func (c contextStream) Context() context.Context { return c.ctx }

// unimplemented returns the error for a call whose capability the plugin does not have.
func (s *Server) unimplemented(capability string) error {
	return status.Errorf(codes.Unimplemented, "%s does not have the capability %s", s.description.Id, capability)
}
