package pluginhost

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PlanCall is a call that plans a request to the aggregator.
type PlanCall[R proto.Message] struct {
	name string
	do   func(*sdk.Client, context.Context, R) (*sdk.Decision, error)
}

// The plans of requests to aggregators.
var (
	PlanAcknowledge   = PlanCall[*pb.AcknowledgeRequest]{"Orders.PlanAcknowledge", (*sdk.Client).PlanAcknowledge}
	PlanOrderStatus   = PlanCall[*pb.OrderStatusRequest]{"Orders.PlanStatus", (*sdk.Client).PlanOrderStatus}
	PlanItemsOOS      = PlanCall[*pb.ItemsOOSRequest]{"Orders.PlanItemsOOS", (*sdk.Client).PlanItemsOOS}
	PlanRiderStatus   = PlanCall[*pb.RiderStatusRequest]{"Riders.PlanStatus", (*sdk.Client).PlanRiderStatus}
	PlanRiderLocation = PlanCall[*pb.RiderLocationRequest]{"Riders.PlanLocation", (*sdk.Client).PlanRiderLocation}
	PlanStoreAction   = PlanCall[*pb.StoreActionRequest]{"Availability.PlanStore", (*sdk.Client).PlanStoreAction}
	PlanStoreBusy     = PlanCall[*pb.StoreBusyRequest]{"Availability.PlanBusy", (*sdk.Client).PlanStoreBusy}
	PlanItemAction    = PlanCall[*pb.ItemActionRequest]{"Availability.PlanItems", (*sdk.Client).PlanItemAction}
	PlanPoll          = PlanCall[*sdk.PollRequest]{"Polls.Plan", (*sdk.Client).PlanPoll}
	PlanAction        = PlanCall[*pb.ActionRequest]{"Actions.PlanAction", (*sdk.Client).PlanAction}
)

// Do requests a plan. It sets the field call of the request from the subject.
func (c PlanCall[R]) Do(ctx context.Context, p Plugin, s Subject, r R) (Decision, error) {
	m := r.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("call"), protoreflect.ValueOfMessage(s.call().ProtoReflect()))
	return requestDecision(ctx, p, newRequest(c.name, s, r),
		func(ctx context.Context, client *sdk.Client) (*sdk.Decision, error) { return c.do(client, ctx, r) })
}

// InterpretCall is a call that interprets the aggregator's response to such a request.
type InterpretCall[A any] struct {
	name string
	do   func(*sdk.Client, context.Context, *sdk.Call, *sdk.Response) (A, error)
}

// The interpretations that need only the response.
var (
	InterpretPublish     = InterpretCall[*sdk.PublishOutcome]{"Menu.InterpretPublish", (*sdk.Client).InterpretPublish}
	InterpretAcknowledge = InterpretCall[*sdk.PublishOutcome]{"Orders.InterpretAcknowledge",
		(*sdk.Client).InterpretAcknowledge}
	InterpretItemsOOS = InterpretCall[*sdk.ItemsOOSOutcome]{"Orders.InterpretItemsOOS",
		(*sdk.Client).InterpretItemsOOS}
)

// Do interprets the aggregator's response.
func (c InterpretCall[A]) Do(ctx context.Context, p Plugin, s Subject, response *sdk.Response) (A, error) {
	return invoke(ctx, p, newRequest(c.name, s, response),
		func(ctx context.Context, i *instance) (A, error) { return c.do(i.client, ctx, s.call(), response) })
}
