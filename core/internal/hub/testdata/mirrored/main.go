// Command mirrored is a plugin for tests. An inbound request is the JSON of its translation, and the body of a planned
// request is the JSON of the hub's call.
package main

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "mirrored", Version: "1.0.0", DisplayName: "Mirror",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "webhook_key"}},
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "webhook_key",
			OrderId: "/order/platform_order_id"}},
	}, nil
}

// Translate returns the translation that the request has.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	translation := &sdk.Translation{}
	if err := sdk.FromJSON(request.GetBody(), translation); err != nil {
		return nil, sdk.Refusef("event: malformed")
	}
	if err := sdk.CheckResult(&sdk.Description{}, translation); err != nil {
		return nil, sdk.Refusef("event: %v", err)
	}
	if err := sdk.CheckOrder(translation.GetOrder()); err != nil {
		return nil, sdk.Refusef("order: %v", err)
	}
	return translation, nil
}

// PlanAcknowledge sends the call.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	return mirror("/acknowledge", request)
}

// PlanOrderStatus sends the call.
func (plugin) PlanOrderStatus(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	return mirror("/status", request)
}

// PlanPreparing sends the call.
func (plugin) PlanPreparing(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	return mirror("/preparing", request)
}

// PlanItemsOOS sends the call.
func (plugin) PlanItemsOOS(_ context.Context, request *pb.ItemsOOSRequest) (*sdk.Decision, error) {
	return mirror("/items-oos", request)
}

func mirror(path string, request proto.Message) (*sdk.Decision, error) {
	body, err := sdk.ToJSON(request)
	if err != nil {
		return nil, err
	}
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: http.MethodPost, Path: path, Body: body,
		Headers: map[string]string{"Content-Type": "application/json"}})
}
