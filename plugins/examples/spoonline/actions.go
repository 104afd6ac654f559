package main

import (
	"context"
	"encoding/xml"
	"net/http"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type action struct {
	XMLName xml.Name `xml:"action"`
	Name    string   `xml:"name,attr"`
	Ref     string   `xml:"ref,attr"` // the outcome has it too
	Minutes int      `xml:"minutes,omitempty"`
	Reason  string   `xml:"reason,omitempty"`
}

// PlanAction plans an action. Its parameters are valid by the schema of the action.
func (plugin) PlanAction(_ context.Context, request *pb.ActionRequest) (*sdk.Decision, error) {
	var parameters struct {
		Minutes int    `json:"minutes"`
		Reason  string `json:"reason"`
	}
	if err := sdk.ReadParameters(request, &parameters); err != nil {
		return nil, err
	}
	switch request.GetAction() {
	case delayOrder, callRider:
		return sendXML(http.MethodPost, orderPath(request.GetOrder())+"/actions", action{Name: request.GetAction(),
			Ref: request.GetCall().GetIdempotencyKey(), Minutes: parameters.Minutes, Reason: parameters.Reason})
	}
	return nil, sdk.Refusef("the action is not offered")
}

// InterpretResponse interprets the response to an action. After 202 the outcome follows as a message.
func (plugin) InterpretResponse(_ context.Context, _ *sdk.Call, _ string,
	response *sdk.Response) (*sdk.ActionOutcome, error) {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	switch {
	case response.GetStatus() == http.StatusAccepted:
		return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_PENDING}, nil
	case again:
		return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}, nil
	case success:
		return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, nil
	}
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED}, nil
}

// outcomeTexts are the texts of Spoonline's numbers of an outcome. 0 is a success.
var outcomeTexts = map[int]string{1: "the customer declined", 2: "the rider did not answer", 3: "it was too late"}

// InterpretCallback interprets the outcome of an action.
func (plugin) InterpretCallback(_ context.Context, _ *sdk.Call,
	request *sdk.InboundRequest) (*sdk.ActionOutcome, error) {
	var sent message
	if err := sdk.ReadXML(request, &sent); err != nil {
		return nil, err
	}
	if sent.XMLName.Local != "outcome" || sent.Ref == "" && sent.Order == "" || sent.Code == nil {
		return nil, sdk.Refusef("outcome: code is required, and ref or order")
	}
	outcome := &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Action: sent.Action,
		PlatformOrderId: sent.Order, IdempotencyKey: sent.Ref}
	if *sent.Code != 0 {
		outcome.State, outcome.Message = pb.OutcomeState_OUTCOME_STATE_FAILED, outcomeTexts[*sent.Code]
	}
	return outcome, nil
}
