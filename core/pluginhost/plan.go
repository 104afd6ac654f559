package pluginhost

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PlanCall is a call that plans a request to the aggregator.
type PlanCall[R proto.Message] struct {
	name string
	do   func(context.Context, *sdk.Client, R) (*sdk.Decision, error)
}

// planCall returns the call of a method of a client's service.
func planCall[S any, R proto.Message](name string, service func(*sdk.Client) S,
	do func(S, context.Context, R, ...grpc.CallOption) (*sdk.Decision, error)) PlanCall[R] {
	return PlanCall[R]{name, func(ctx context.Context, c *sdk.Client, r R) (*sdk.Decision, error) {
		return do(service(c), ctx, r)
	}}
}

// The plans of requests to aggregators.
var (
	PlanAcknowledge   = planCall("Orders.PlanAcknowledge", (*sdk.Client).Orders, pb.OrdersClient.PlanAcknowledge)
	PlanOrderStatus   = planCall("Orders.PlanStatus", (*sdk.Client).Orders, pb.OrdersClient.PlanStatus)
	PlanItemsOOS      = planCall("Orders.PlanItemsOOS", (*sdk.Client).Orders, pb.OrdersClient.PlanItemsOOS)
	PlanRiderStatus   = planCall("Riders.PlanStatus", (*sdk.Client).Riders, pb.RidersClient.PlanStatus)
	PlanRiderLocation = planCall("Riders.PlanLocation", (*sdk.Client).Riders, pb.RidersClient.PlanLocation)
	PlanStoreAction   = planCall("Availability.PlanStore", (*sdk.Client).Availability, pb.AvailabilityClient.PlanStore)
	PlanStoreBusy     = planCall("Availability.PlanBusy", (*sdk.Client).Availability, pb.AvailabilityClient.PlanBusy)
	PlanItemAction    = planCall("Availability.PlanItems", (*sdk.Client).Availability, pb.AvailabilityClient.PlanItems)
	PlanPoll          = planCall("Polls.Plan", (*sdk.Client).Polls, pb.PollsClient.Plan)
	PlanAction        = planCall("Actions.PlanAction", (*sdk.Client).Actions, pb.ActionsClient.PlanAction)
)

// Do requests a plan. It sets the field call of the request from the subject.
func (c PlanCall[R]) Do(ctx context.Context, p Plugin, s Subject, r R) (Decision, error) {
	m := r.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("call"), protoreflect.ValueOfMessage(s.call().ProtoReflect()))
	return requestDecision(ctx, p, newRequest(c.name, s, r),
		func(ctx context.Context, client *sdk.Client) (*sdk.Decision, error) { return c.do(ctx, client, r) })
}

// InterpretCall is a call that interprets the aggregator's response to such a request, or to a menu.
type InterpretCall[A any] struct {
	name string
	do   func(context.Context, *sdk.Client, *pb.InterpretRequest) (A, error)
}

// interpretCall returns the call of a method of a client's service.
func interpretCall[S, A any](name string, service func(*sdk.Client) S,
	do func(S, context.Context, *pb.InterpretRequest, ...grpc.CallOption) (A, error)) InterpretCall[A] {
	return InterpretCall[A]{name, func(ctx context.Context, c *sdk.Client, r *pb.InterpretRequest) (A, error) {
		return do(service(c), ctx, r)
	}}
}

// The interpretations of responses.
var (
	InterpretPublish     = interpretCall("Menu.InterpretPublish", (*sdk.Client).Menu, pb.MenuClient.InterpretPublish)
	InterpretAcknowledge = interpretCall("Orders.InterpretAcknowledge", (*sdk.Client).Orders,
		pb.OrdersClient.InterpretAcknowledge)
	InterpretItemsOOS = interpretCall("Orders.InterpretItemsOOS", (*sdk.Client).Orders,
		pb.OrdersClient.InterpretItemsOOS)
	InterpretAvailability = interpretCall("Availability.InterpretAnswer", (*sdk.Client).Availability,
		pb.AvailabilityClient.InterpretAnswer)
	InterpretResponse = interpretCall("Actions.InterpretResponse", (*sdk.Client).Actions,
		pb.ActionsClient.InterpretResponse)
)

// Do interprets the aggregator's response. It sets the field call of the request from the subject.
func (c InterpretCall[A]) Do(ctx context.Context, p Plugin, s Subject, r *pb.InterpretRequest) (A, error) {
	r.Call = s.call()
	return invoke(ctx, p, newRequest(c.name, s, r.GetResponse()),
		func(ctx context.Context, i *instance) (A, error) { return c.do(ctx, i.client, r) })
}
