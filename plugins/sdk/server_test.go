//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// dial serves the registered services, and returns a client for them.
func dial(t *testing.T, register func(grpc.ServiceRegistrar), options ...grpc.ServerOption) *sdk.Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(options...)
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:plugin",
		append(sdk.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
				error) {
				return listener.DialContext(ctx)
			}))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	return sdk.NewClient(conn)
}

func serve(t *testing.T, p sdk.Plugin) (*sdk.Client, *safeBuffer) {
	t.Helper()
	log := &safeBuffer{}
	server, err := sdk.NewServer(p, slog.New(sdk.NewLogHandler(log, slog.LevelDebug)))
	require.NoError(t, err)
	return dial(t, server.Register, server.Options()...), log
}

type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write appends to the buffer.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *safeBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// riders is a plugin with a configurable result.
type riders struct {
	minimal
	answer func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error)
}

func (r riders) PlanRiderStatus(ctx context.Context, request *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return r.answer(ctx, request)
}

func TestPluginErrorsMapToStatusCodes(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error)
		code   codes.Code
		says   string
	}{
		"a refusal": {func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
			return nil, sdk.Refusef("status %q is not known", "LOST")
		}, codes.InvalidArgument, `status "LOST" is not known`},
		"a fault": {func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
			return nil, errors.New("broken")
		}, codes.Internal, "broken"},
		"a status of a lost call": {func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
			return nil, status.Error(codes.Unavailable, "the table is broken")
		}, codes.Internal, "the table is broken"},
		"a cancellation of its own": {func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
			return nil, context.Canceled
		}, codes.Internal, "context canceled"},
		"a panic": {func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
			var none []string
			return sdk.Skip(none[3])
		}, codes.Internal, "the plugin panicked: runtime error: index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			client, log := serve(t, riders{answer: c.answer})
			_, err := client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
			require.Equal(t, c.code, status.Code(err))
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.code == codes.InvalidArgument, sdk.IsRefusal(err))
			if name == "a panic" {
				require.Contains(t, log.text(), `"@message":"plugin panicked"`)
				require.Contains(t, log.text(), "server_test.go") // the stack
			}
		})
	}
}

func TestCallTraceReachesThePluginAndItsLog(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	client, log := serve(t, riders{answer: func(ctx context.Context, _ *pb.RiderStatusRequest) (*sdk.Decision, error) {
		sdk.Logger(ctx).Info("deciding")
		return sdk.Skip(sdk.Traceparent(ctx))
	}})
	decision, err := client.Riders().PlanStatus(sdk.WithTraceparent(t.Context(), trace), &pb.RiderStatusRequest{})
	require.NoError(t, err)
	require.Equal(t, trace, decision.GetSkip())
	require.Contains(t, log.text(), `"call":"Riders.PlanStatus","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"`)
}

func TestEveryPluginCallHasADeadline(t *testing.T) {
	client, _ := serve(t, riders{answer: func(ctx context.Context, _ *pb.RiderStatusRequest) (*sdk.Decision, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			return nil, errors.New("no deadline")
		}
		return sdk.Skip("bounded")
	}})
	_, err := client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
	require.NoError(t, err)
	// a host without a deadline
	_, err = pb.NewRidersClient(client.Conn()).PlanStatus(t.Context(), &pb.RiderStatusRequest{})
	require.NoError(t, err)
}

func TestDrainFinishesRunningCallsAndRejectsNewOnes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	client, _ := serve(t, riders{answer: func(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
		close(entered)
		<-release
		return sdk.Skip("late")
	}})
	answered, drained := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
		answered <- err
	}()
	<-entered
	go func() { drained <- client.Drain(t.Context()) }()
	eventually(t, "draining", func() bool {
		health, err := client.CheckHealth(t.Context())
		return err == nil && health.GetState() == pb.HealthState_HEALTH_STATE_DRAINING && health.GetInFlight() == 1
	})
	_, err := client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Empty(t, drained, "it returns only when no call is under way")
	close(release)
	require.NoError(t, <-answered)
	require.NoError(t, <-drained)
	require.NoError(t, client.Drain(t.Context()), "a second time")
}

func TestSettingsAreValidatedByTheirSchema(t *testing.T) {
	client, _ := serve(t, configured{})
	for settings, says := range map[string]string{
		``: "", `{}`: "", `{"hours":[{"from":3}]}`: "",
		`{"hours":[{"from":3},{"from":30}]}`: "hours.1.from maximum: got 30, want 23",
		`{"other":1}`:                        " additional properties 'other' not allowed",
		`[]`:                                 " must be a JSON object", `{`: " must be a JSON object",
		`{"hours":[{"from":4}]}`: "hours is taken",
	} {
		problems, err := client.Configure(t.Context(), &sdk.Call{Settings: []byte(settings)})
		require.NoError(t, err)
		if says == "" {
			require.Empty(t, problems, settings)
			continue
		}
		require.Len(t, problems, 1, settings)
		require.Equal(t, says, problems[0].GetPath()+" "+problems[0].GetMessage())
	}
	_, err := sdk.NewServer(wrongExample{}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "settings_schema: examples[0]")
}

type configured struct{}

func (configured) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := minimal{}.Describe(ctx)
	d.SettingsSchema =
		[]byte(`{"type":"object","properties":{"hours":{"type":"array","items":{"type":"object",` +
			`"properties":{"from":{"type":"integer","maximum":23}}}}},"additionalProperties":false}`)
	return d, err
}

func (configured) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	if strings.Contains(string(call.GetSettings()), `"from":4`) {
		return []*sdk.Problem{{Path: "hours", Message: "is taken"}}, nil
	}
	return nil, nil
}

type wrongExample struct{}

func (wrongExample) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := minimal{}.Describe(ctx)
	d.SettingsSchema = []byte(`{"type":"object","required":["word"],"examples":[{}]}`)
	return d, err
}

// hostileMenu returns invalid results for menus.
type hostileMenu struct {
	pb.UnimplementedMenuServer
	findings *pb.FindingsChunk
	rendered *pb.RenderedChunk
	times    int
}

func (h hostileMenu) CheckItems(stream grpc.BidiStreamingServer[pb.ItemsChunk, pb.FindingsChunk]) error {
	for range h.times { // without reading anything
		if err := stream.Send(h.findings); err != nil {
			return err
		}
	}
	return nil
}

func (h hostileMenu) Render(stream grpc.BidiStreamingServer[pb.MenuChunk, pb.RenderedChunk]) error {
	for range h.times {
		if err := stream.Send(h.rendered); err != nil {
			return err
		}
	}
	return nil
}

func TestInvalidMenuResponsesAreExplained(t *testing.T) {
	items := []*sdk.Item{{RefId: "dal"}}
	big := &pb.FindingsChunk{Findings: []*pb.Finding{{RefId: "dal", Message: strings.Repeat("x", 1<<20)}}}
	many := &pb.FindingsChunk{Findings: slices.Repeat([]*pb.Finding{{RefId: "dal"}}, 90_000)}
	page := &pb.RenderedChunk{Decision: &pb.Decision{Outcome: &pb.Decision_Plan{Plan: &pb.Plan{}}},
		Body: make([]byte, 8<<20)}
	for says, h := range map[string]hostileMenu{
		`found fault with item "naan", which it was not asked about`: {
			findings: &pb.FindingsChunk{Findings: []*pb.Finding{{RefId: "naan"}}}, times: 1},
		"findings are more than 16 MB": {findings: big, times: 1 << 10},
		"more than 200000 findings":    {findings: many, times: 3},
	} {
		_, err := dial(t, func(r grpc.ServiceRegistrar) { pb.RegisterMenuServer(r, h) }).CheckItems(t.Context(),
			&sdk.Call{}, items)
		var fault *sdk.Fault
		require.ErrorAs(t, err, &fault)
		require.ErrorContains(t, err, says)
	}
	for says, h := range map[string]hostileMenu{
		"rendered nothing":         {},
		"without a decision":       {rendered: &pb.RenderedChunk{Body: []byte("x")}, times: 1},
		"rendered more than 64 MB": {rendered: page, times: 1 << 10},
	} {
		_, err := dial(t, func(r grpc.ServiceRegistrar) { pb.RegisterMenuServer(r, h) }).Render(t.Context(),
			&sdk.Call{}, &sdk.Menu{Items: items})
		var fault *sdk.Fault
		require.ErrorAs(t, err, &fault)
		require.ErrorContains(t, err, says)
	}
}
