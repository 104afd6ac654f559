package sdk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// lastCall is a connection that records the method of the last unary call and how long it had.
type lastCall struct {
	grpc.ClientConnInterface
	method string
	within time.Duration
}

func (l *lastCall) Invoke(ctx context.Context, method string, _, _ any, _ ...grpc.CallOption) error {
	until, _ := ctx.Deadline()
	l.method, l.within = method, time.Until(until)
	return nil
}

func TestCallsHaveTheDeadlinesOfTheirMethods(t *testing.T) {
	for method, call := range map[string]struct {
		do     func(context.Context, *sdk.Client) error
		within time.Duration
	}{
		pb.Plugin_CheckHealth_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			_, err := c.CheckHealth(ctx)
			return err
		}, time.Second},
		pb.Plugin_Describe_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			_, err := c.Describe(ctx)
			return err
		}, 5 * time.Second},
		pb.Plugin_Drain_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			return c.Drain(ctx)
		}, 30 * time.Second},
		pb.Menu_PlanUnlist_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			_, err := c.Menu().PlanUnlist(ctx, &pb.UnlistRequest{})
			return err
		}, 30 * time.Second},
		pb.Menu_Serve_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			_, err := c.Menu().Serve(ctx, &sdk.ServeRequest{})
			return err
		}, 30 * time.Second},
		pb.Menu_InterpretPublish_FullMethodName: {func(ctx context.Context, c *sdk.Client) error {
			_, err := c.Menu().InterpretPublish(ctx, &pb.InterpretRequest{})
			return err
		}, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) { // its clock stands still during the call
			var last lastCall
			require.NoError(t, call.do(t.Context(), sdk.NewClient(&last)))
			require.Equal(t, lastCall{method: method, within: call.within}, last)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.NoError(t, call.do(ctx, sdk.NewClient(&last)))
			require.Equal(t, time.Millisecond, last.within, "the earlier deadline of the caller")
		})
	}
}
