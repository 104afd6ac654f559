// Leaky is a plugin whose every error has a path, a stack and a secret. The setting leak of the platform selects the
// calls that fail, and how.
package main

import (
	"context"
	"errors"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// detail is what no answer to an aggregator or integrator may have.
const detail = "open /etc/leaky/secret.key: token sk_live_51HxYzAbC is wrong, +14155550100\n" +
	"goroutine 1 [running]:\nmain.leak()\n" +
	"\t/src/leaky/main.go:42 +0x1d"

type leaky struct{}

func main() { sdk.Serve(leaky{}) }

// Describe returns the description.
func (leaky) Describe(context.Context) (*sdk.Description, error) {
	inbound := func(kind string, purpose pb.InboundPurpose) *pb.Inbound {
		return &pb.Inbound{Kind: kind, Purpose: purpose, Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS,
			Header: "x-key",
			Secret: "key"}
	}
	return &sdk.Description{
		Id: "leaky", Version: "1.0.0", DisplayName: "Leaky",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "key"}},
		Actions: []*pb.ActionOffer{{Name: "rider_with_mask", Title: "Mask"}, {Name: "fetch_customer_data",
			Title: "Data"}},
		Inbound: []*pb.Inbound{inbound("orders", pb.InboundPurpose_INBOUND_PURPOSE_ORDER),
			inbound("outcomes", pb.InboundPurpose_INBOUND_PURPOSE_ACTION)},
		SettingsSchema: []byte(`{"type":"object","properties":{"leak":{"type":"string"}}}`),
		Limits:         &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

// leak fails as the settings say. Calls that interpret a response fail only with a mode of their own.
func leak(call *sdk.Call, interprets bool) error {
	var settings struct{ Leak string }
	if len(call.GetSettings()) > 0 {
		if err := sdk.ReadSettings(call, &settings); err != nil {
			return err
		}
	}
	mode, forInterpreting := strings.CutPrefix(settings.Leak, "interpret-")
	if interprets != forInterpreting {
		return nil
	}
	switch mode {
	case "refuse":
		return sdk.Refusef("%s", detail)
	case "error":
		return errors.New(detail)
	case "panic":
		panic(detail)
	}
	return nil
}

// plan returns a plan, or one with an invalid path that has the detail.
func plan(call *sdk.Call) (*sdk.Decision, error) {
	path := "/"
	if strings.Contains(string(call.GetSettings()), `"invalid"`) {
		path = detail
	}
	if err := leak(call, false); err != nil {
		return nil, err
	}
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "POST", Path: path})
}

func (leaky) CheckItems(_ context.Context, call *sdk.Call, _ []*sdk.Item) ([]*sdk.Finding, error) {
	return nil, leak(call, false)
}

func (leaky) Render(_ context.Context, call *sdk.Call, _ *sdk.Menu) (*sdk.Decision, error) {
	return plan(call)
}

func (leaky) InterpretPublish(_ context.Context, call *sdk.Call, _ *sdk.Response) (*sdk.PublishOutcome, error) {
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, leak(call, true)
}

func (leaky) PlanStoreAction(_ context.Context, r *pb.StoreActionRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) PlanItemAction(_ context.Context, r *pb.ItemActionRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) InterpretAvailability(_ context.Context, call *sdk.Call, _ string,
	_ *sdk.Response) (*sdk.PublishOutcome, error) {
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, leak(call, true)
}

func (leaky) Translate(_ context.Context, call *sdk.Call, r *sdk.InboundRequest) (*sdk.Translation, error) {
	if string(r.GetBody()) == "ignore" {
		return sdk.Ignored(detail)
	}
	if strings.Contains(string(call.GetSettings()), `"invalid"`) {
		order := &sdk.NewOrder{PlatformOrderId: "X", StoreRefId: "s1", Items: []*pb.OrderItem{{RefId: "dal",
			Quantity: 1, Price: detail}}}
		return &sdk.Translation{Meaning: &pb.Translation_Order{Order: order}}, nil
	}
	return &sdk.Translation{}, leak(call, false)
}

func (leaky) PlanAcknowledge(_ context.Context, r *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) PlanOrderStatus(_ context.Context, r *pb.OrderStatusRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) PlanItemsOOS(_ context.Context, r *pb.ItemsOOSRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) InterpretItemsOOS(_ context.Context, call *sdk.Call, _ *sdk.Response) (*sdk.ItemsOOSOutcome, error) {
	return &sdk.ItemsOOSOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, leak(call, true)
}

func (leaky) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) PlanRiderLocation(_ context.Context, r *pb.RiderLocationRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) PlanAction(_ context.Context, r *pb.ActionRequest) (*sdk.Decision, error) {
	return plan(r.GetCall())
}

func (leaky) InterpretResponse(_ context.Context, call *sdk.Call, _ string,
	_ *sdk.Response) (*sdk.ActionOutcome, error) {
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, leak(call, true)
}

func (leaky) InterpretCallback(_ context.Context, call *sdk.Call, _ *sdk.InboundRequest) (*sdk.ActionOutcome, error) {
	if strings.Contains(string(call.GetSettings()), `"invalid"`) {
		return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, IdempotencyKey: detail}, nil
	}
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, leak(call, false)
}
