//go:build unix

package sdk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// timed is a plugin that reports how long it has for a call.
type timed struct{ minimal }

func (timed) CheckItems(ctx context.Context, _ *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	return []*sdk.Finding{{RefId: items[0].GetRefId(), Rule: "time", Message: fmt.Sprint(timeLeft(ctx))}}, nil
}

func (timed) PlanUnlist(ctx context.Context, _ *pb.UnlistRequest) (*sdk.Decision, error) {
	return sdk.Skip(fmt.Sprint(timeLeft(ctx)))
}

// timeLeft returns the time until the deadline, rounded up to 5 s.
func timeLeft(ctx context.Context) time.Duration {
	until, _ := ctx.Deadline()
	return (time.Until(until) + 5*time.Second - 1).Truncate(5 * time.Second)
}

// checkWithin checks an item, with a deadline unless within is 0.
func checkWithin(ctx context.Context, client *sdk.Client, within time.Duration) ([]*sdk.Finding, error) {
	if within > 0 {
		bounded, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = bounded
	}
	return client.CheckItems(ctx, &sdk.Call{}, []*sdk.Item{{RefId: "soup"}})
}

func TestMenuCallsHaveTheTimeOfTheirCaller(t *testing.T) {
	client, _ := serve(t, timed{})
	for within, want := range map[time.Duration]string{0: "30s", 10 * time.Second: "10s", time.Minute: "1m0s"} {
		found, err := checkWithin(t.Context(), client, within)
		require.NoError(t, err)
		require.Equal(t, want, found[0].GetMessage())
	}
	decision, err := client.Menu().PlanUnlist(t.Context(), &pb.UnlistRequest{StoreRefId: "s1"})
	require.NoError(t, err)
	require.Equal(t, "30s", decision.GetSkip())
}

// large is a plugin with large plans.
type large struct{ minimal }

func (large) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(&sdk.Plan{Body: make([]byte, sdk.MaxResult)})
}

func (large) PlanItemAction(context.Context, *pb.ItemActionRequest) (*sdk.Decision, error) {
	return sdk.Send(&sdk.Plan{Body: make([]byte, sdk.MaxResult)})
}

func TestOnlyResultsAboutMenusAreLarge(t *testing.T) {
	client, _ := serve(t, large{})
	_, err := client.Availability().PlanItems(t.Context(), &pb.ItemActionRequest{})
	require.NoError(t, err)
	_, err = client.Riders().PlanStatus(t.Context(), &pb.RiderStatusRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// scattered is a plugin with a result that takes little space until it is decoded.
type scattered struct{ minimal }

func (scattered) PlanItemAction(context.Context, *pb.ItemActionRequest) (*sdk.Decision, error) {
	empty := make([]*pb.PublishError, 300_000)
	for i := range empty {
		empty[i] = &pb.PublishError{}
	}
	return &sdk.Decision{LeftOut: empty}, nil
}

func TestResultsAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	client, _ := serve(t, scattered{})
	_, err := client.Availability().PlanItems(t.Context(), &pb.ItemActionRequest{})
	require.ErrorAs(t, err, new(*sdk.Fault))
	require.EqualError(t, err, "the plugin's response: it has more than 200000 objects")
}
