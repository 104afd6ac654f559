// Delays is a plugin with an action of its own, and with a narrower schema for a specified one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type delays struct{}

func main() { sdk.Serve(delays{}) }

// Describe returns the description.
func (delays) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "delays", Version: "1.0.0", DisplayName: "Delays",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Actions: []*pb.ActionOffer{
			{Name: "delay_order", Title: "Delay the order", SendsEvent: true, ParametersSchema: []byte(`{
				"type":"object","properties":{"minutes":{"type":"integer","minimum":1,"maximum":60}},
				"required":["minutes"],"additionalProperties":false,"examples":[{"minutes":10}]}`)},
			{Name: "rider_body_temp", SendsEvent: true, ParametersSchema: []byte(`{"type":"object",
				"properties":{"temp":{"type":"number","maximum":108}},"required":["temp"]}`)},
		},
		Limits: &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

// PlanAction plans an action with its parameters.
func (delays) PlanAction(_ context.Context, request *pb.ActionRequest) (*sdk.Decision, error) {
	var parameters struct {
		Minutes int         `json:"minutes"`
		Temp    json.Number `json:"temp"`
	}
	if err := sdk.ReadParameters(request, &parameters); err != nil {
		return nil, err
	}
	body := map[string]any{"order": request.GetOrder().GetPlatformOrderId()}
	if request.GetAction() == "delay_order" {
		body["later"] = parameters.Minutes
	} else {
		body["temp"] = parameters.Temp
	}
	return sdk.Send(sdk.JSONPlan(http.MethodPost, "api", "/actions", body))
}

// InterpretResponse interprets the response to an action.
func (delays) InterpretResponse(_ context.Context, _ *sdk.Call, action string,
	_ *sdk.Response) (*sdk.ActionOutcome, error) {
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Message: fmt.Sprintf("%s done", action)}, nil
}
