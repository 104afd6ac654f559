package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// The feature actions of the API specification.
const (
	bodyTemp        = "rider_body_temp"
	withMask        = "rider_with_mask"
	additionalRider = "request_additional_rider"
	customerData    = "fetch_customer_data"
)

type temperature struct {
	Fahrenheit json.Number `json:"fahrenheit"`
	RiderPhone string      `json:"rider_phone,omitempty"`
}

type mask struct {
	Wearing    bool   `json:"wearing"`
	RiderPhone string `json:"rider_phone,omitempty"`
}

type contactRequest struct {
	RequestID  string `json:"request_id"`
	RiderPhone string `json:"rider_phone,omitempty"`
}

type riderRequest struct {
	RiderPhone string `json:"rider_phone,omitempty"`
}

// PlanAction plans one of the four actions.
func (plugin) PlanAction(_ context.Context, request *pb.ActionRequest) (*sdk.Decision, error) {
	order, phone := request.GetOrder(), request.GetPhone()
	if phone != "" && order.GetDeliveryType() != "self" {
		return nil, sdk.Refusef("phone is for self-delivery orders only")
	}
	path := "/v2/orders/" + url.PathEscape(order.GetPlatformOrderId())
	switch request.GetAction() {
	case bodyTemp:
		if request.GetTemp() == "" {
			return nil, sdk.Refusef("temp is required with %s", bodyTemp)
		}
		degrees, err := sdk.Number("temp", request.GetTemp())
		if err != nil {
			return nil, err
		}
		return send(request.GetCall(), http.MethodPost, path+"/rider-temperature", temperature{degrees, phone})
	case withMask:
		if request.WearingMask == nil {
			return nil, sdk.Refusef("wearing_mask is required with %s", withMask)
		}
		return send(request.GetCall(), http.MethodPost, path+"/rider-mask", mask{request.GetWearingMask(), phone})
	case additionalRider:
		if !order.GetIsBulkOrder() {
			return nil, sdk.Refusef("%s is for bulk orders only", additionalRider)
		}
		return send(request.GetCall(), http.MethodPost, path+"/additional-rider", riderRequest{phone})
	case customerData:
		return send(request.GetCall(), http.MethodPost, path+"/customer-contact",
			contactRequest{request.GetCall().GetIdempotencyKey(), phone})
	}
	return nil, sdk.Refusef("action %q is not offered", request.GetAction())
}

// InterpretResponse interprets the response to an action. The customer's contact follows later, unless A has it at
// once.
func (plugin) InterpretResponse(_ context.Context, _ *sdk.Call, action string,
	response *sdk.Response) (*sdk.ActionOutcome, error) {
	var answer struct {
		Message     string `json:"message"`
		MaskedPhone string `json:"masked_phone"`
	}
	_ = sdk.ReadJSON("the answer", response.GetBody(), &answer) // without a body, the status decides
	outcome := &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: answer.Message}
	switch success, again := sdk.ClassifyStatus(response.GetStatus()); {
	case again:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_RETRY
	case success && action == customerData && answer.MaskedPhone == "":
		outcome.State = pb.OutcomeState_OUTCOME_STATE_PENDING
	case success:
		outcome.State, outcome.CustomerPhone = pb.OutcomeState_OUTCOME_STATE_DONE, answer.MaskedPhone
	}
	return outcome, nil
}

// InterpretCallback interprets the callback with the customer's masked contact.
func (plugin) InterpretCallback(_ context.Context, _ *sdk.Call,
	request *sdk.InboundRequest) (*sdk.ActionOutcome, error) {
	var sent struct {
		RequestID   string         `json:"request_id"`
		OrderID     flexibleString `json:"order_id"`
		MaskedPhone string         `json:"masked_phone"`
		Error       string         `json:"error"`
	}
	if err := sdk.ReadJSON("customer-data", request.GetBody(), &sent); err != nil {
		return nil, err
	}
	if sent.OrderID == "" && sent.RequestID == "" {
		return nil, sdk.Refusef("customer-data: request_id or order_id is required")
	}
	outcome := &sdk.ActionOutcome{
		State: pb.OutcomeState_OUTCOME_STATE_DONE, Message: sent.Error, CustomerPhone: sent.MaskedPhone,
		Action: customerData, PlatformOrderId: string(sent.OrderID), IdempotencyKey: sent.RequestID,
	}
	if sent.MaskedPhone == "" {
		outcome.State = pb.OutcomeState_OUTCOME_STATE_FAILED
	}
	return outcome, nil
}

// flexibleString is a string that A may send as a number.
type flexibleString string

// UnmarshalJSON decodes a string or number.
func (t *flexibleString) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), `"`) {
		return json.Unmarshal(raw, (*string)(t))
	}
	var number json.Number
	err := json.Unmarshal(raw, &number)
	*t = flexibleString(number)
	return err
}
