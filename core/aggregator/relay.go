package aggregator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Plan plans a call to an aggregator (relay.Plugins).
func (h *Host) Plan(ctx context.Context, call relay.Call, settings []byte) (relay.Decision, error) {
	if err := h.servedByPeer(call.Plugin); err != nil {
		return relay.Decision{}, err
	}
	plugin := h.Plugin(call.Plugin)
	subject := subjectOf(call, settings)
	decision, err := h.planCall(ctx, plugin, call, subject)
	if err != nil || decision.GetPlan() == nil {
		return relay.Decision{Skip: decision.GetSkip()}, h.withSettingsError(ctx, plugin, subject, err)
	}
	plan, err := planOf(decision.Description, decision.GetPlan())
	return relay.Decision{Plan: plan}, err
}

func subjectOf(call relay.Call, settings []byte) pluginhost.Subject {
	s := pluginhost.Subject{
		Business: call.Business, Platform: call.Platform, Store: call.Order.StoreRefID, Settings: settings,
		Key: call.ID.String(), Request: call.ID.String(), About: "call " + call.ID.String(), Values: call.Values,
	}
	if call.Order.ID != 0 {
		s.About = fmt.Sprintf("order %d, %s", call.Order.ID, s.About)
	}
	if call.Kind == relay.RiderLocation { // each location is a call
		s.Request, s.About = fmt.Sprintf("order %d", call.Order.ID), fmt.Sprintf("order %d", call.Order.ID)
	}
	return s
}

// decodePayload decodes the payload of a stored call. Its error is Invalid.
func decodePayload[P any](call relay.Call) (p P, err error) {
	if err := json.Unmarshal(call.Payload, &p); err != nil {
		return p, core.Errorf(core.Invalid, "the stored call cannot be read: %v", err)
	}
	return p, nil
}

func orderForPlugin(o relay.Order) *pb.Order {
	order := &pb.Order{
		OrderId: o.ID, PlatformOrderId: o.PlatformOrderID, StoreRefId: o.StoreRefID,
		PlatformStoreId: o.PlatformStoreID, OrderType: o.Kind, DeliveryType: o.DeliveryMode, IsBulkOrder: o.Bulk,
	}
	for _, line := range o.Lines {
		item := &pb.OrderItem{RefId: line.RefID, LineId: line.LineID, Quantity: line.Quantity}
		for _, option := range line.Options {
			item.Options = append(item.Options,
				&pb.OrderOption{RefId: option.RefID, LineId: option.LineID, Quantity: option.Quantity})
		}
		order.Items = append(order.Items, item)
	}
	return order
}

func (h *Host) planCall(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	switch call.Kind {
	case relay.RiderStatus:
		return planRiderStatus(ctx, plugin, call, subject)
	case relay.RiderLocation:
		return planRiderLocation(ctx, plugin, call, subject)
	case relay.OrderAcknowledge:
		return planAcknowledge(ctx, plugin, call, subject)
	case relay.OrderStatus:
		return h.planOrderStatus(ctx, plugin, call, subject)
	case relay.Action:
		return planAction(ctx, plugin, call, subject)
	case relay.StoreAction, relay.ItemAction:
		return h.planAvailability(ctx, plugin, call, subject)
	case relay.ItemsOOS:
		return h.planItemsOOS(ctx, plugin, call, subject)
	}
	return none, core.Errorf(core.Invalid, "no plugin plans calls of kind %s", call.Kind)
}

func planRiderStatus(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, err := decodePayload[relay.RiderStatusPayload](call)
	if err != nil {
		return none, err
	}
	return pluginhost.PlanRiderStatus.Do(ctx, plugin, subject, &pb.RiderStatusRequest{
		Order: orderForPlugin(call.Order), Status: p.Status, RiderName: p.Name, RiderPhoneNumber: p.Phone,
		ChangedAt: p.At})
}

func planRiderLocation(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, err := decodePayload[relay.RiderLocationPayload](call)
	if err != nil {
		return none, err
	}
	decision, err := pluginhost.PlanRiderLocation.Do(ctx, plugin, subject, &pb.RiderLocationRequest{
		Order: orderForPlugin(call.Order), Latitude: p.Latitude, Longitude: p.Longitude, SeenAt: p.At})
	if err == nil {
		if several := sdk.CheckSingleStep(decision.Decision); several != nil {
			err = &core.Error{Code: core.Internal, Message: several.Error(), Cause: several}
		}
	}
	return decision, err
}

func planAcknowledge(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, err := decodePayload[relay.OrderAcknowledgePayload](call)
	if err != nil {
		return none, err
	}
	order := orderForPlugin(call.Order)
	if p.PlatformOrderID != "" { // of a rejected order
		order.PlatformOrderId, order.PlatformStoreId = p.PlatformOrderID, p.PlatformStoreID
	}
	return pluginhost.PlanAcknowledge.Do(ctx, plugin, subject, &pb.AcknowledgeRequest{Order: order,
		Accepted: p.Accepted, PrepTime: p.PrepMinutes * 60, Reason: p.Reason, ReasonCode: p.ReasonCode, ChangedAt: p.At,
		OutOfStockRefIds: p.OutOfStock, InvalidRefIds: p.Invalid})
}

// planOrderStatus plans the report of a state. A plugin that does not know Preparing is not called for it.
func (h *Host) planOrderStatus(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, err := decodePayload[relay.OrderStatusPayload](call)
	if err != nil {
		return none, err
	}
	if p.Status == sdk.Preparing && h.description(call.Plugin) != nil &&
		!h.hasCapability(call.Plugin, sdk.CapabilityOrderPreparing) {
		skipped, err := sdk.Skip("the plugin does not report that the kitchen has started")
		return pluginhost.Decision{Decision: skipped}, err
	}
	return pluginhost.PlanOrderStatus.Do(ctx, plugin, subject, &pb.OrderStatusRequest{
		Order: orderForPlugin(call.Order), Status: p.Status, Message: p.Message, PrepMinutes: p.PrepMinutes,
		ReasonCode: p.ReasonCode, ChangedAt: p.At, OutOfStockRefIds: p.OutOfStock, InvalidRefIds: p.Invalid})
}

func planAction(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, err := decodePayload[relay.ActionPayload](call)
	if err != nil {
		return none, err
	}
	return pluginhost.PlanAction.Do(ctx, plugin, subject, &pb.ActionRequest{Order: orderForPlugin(call.Order),
		Action: p.Action, Temp: p.Temp, WearingMask: p.WearingMask, Phone: p.Phone, Parameters: p.Parameters})
}

// planOf converts a plan, with what its plugin declares in a description. The plan may name nothing else.
func planOf(about *sdk.Description, p *sdk.Plan) (*relay.Plan, error) {
	if len(p.GetSteps()) > 0 {
		steps, err := stepsOf(about, p)
		return &relay.Plan{Steps: steps}, err
	}
	plan := &relay.Plan{Endpoint: p.GetEndpoint(), Method: p.GetMethod(), Path: p.GetPath(), URL: p.GetUrl(),
		Query: p.GetQuery(), Headers: p.GetHeaders(), Body: p.GetBody()}
	if err := addDeclared(about, p, plan); err != nil {
		return nil, err
	}
	for _, s := range p.GetSecretHeaders() {
		plan.Secrets = append(plan.Secrets,
			relay.SecretHeader{Header: s.GetHeader(), Secret: s.GetSecret(), Template: s.GetTemplate()})
	}
	plan.Success = relay.Success{
		Statuses: integers(p.GetSuccess().GetStatuses()), Pointer: p.GetSuccess().GetJsonPointer(),
		Equals: p.GetSuccess().GetJsonEquals(), Final: integers(p.GetSuccess().GetFinalStatuses()),
	}
	return plan, nil
}

func integers(list []int32) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// Interpret interprets an aggregator's response (relay.Plugins). Only responses to actions, availability changes,
// acknowledgements and out-of-stock reports carry more than a status.
func (h *Host) Interpret(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	switch call.Kind {
	case relay.StoreAction, relay.ItemAction:
		return h.interpretAvailability(ctx, call, settings, response)
	case relay.ItemsOOS:
		return h.interpretItemsOOS(ctx, call, settings, response)
	case relay.OrderAcknowledge:
		return h.interpretAcknowledge(ctx, call, settings, response)
	}
	if call.Kind != relay.Action {
		return relay.Outcome{}, nil
	}
	p, err := decodePayload[relay.ActionPayload](call)
	if err != nil {
		return relay.Outcome{}, err
	}
	if !h.hasCapability(call.Plugin, sdk.CapabilityActionResponse) {
		return relay.Outcome{ByCallback: isByCallback(h.description(call.Plugin), p.Action)}, nil
	}
	outcome, err := pluginhost.InterpretResponse.Do(ctx, h.Plugin(call.Plugin), subjectOf(call, settings),
		&pb.InterpretRequest{Action: p.Action, Response: responseForPlugin(response)})
	if err != nil {
		return relay.Outcome{}, err
	}
	return actionOutcome(call.Platform, outcome)
}

var outcomeStates = map[pb.OutcomeState]relay.OutcomeState{
	pb.OutcomeState_OUTCOME_STATE_DONE: relay.OutcomeDone, pb.OutcomeState_OUTCOME_STATE_FAILED: relay.OutcomeFailed,
	pb.OutcomeState_OUTCOME_STATE_PENDING: relay.OutcomePending,
	pb.OutcomeState_OUTCOME_STATE_RETRY:   relay.OutcomeRetry,
}

func outcomeOf(o *sdk.ActionOutcome) (relay.Outcome, error) {
	out := relay.Outcome{
		State: outcomeStates[o.GetState()], Message: o.GetMessage(), CustomerPhone: o.GetCustomerPhone(),
		Action: o.GetAction(), PlatformOrderID: o.GetPlatformOrderId(),
	}
	if o.GetIdempotencyKey() != "" {
		id, err := uuid.Parse(o.GetIdempotencyKey())
		if err != nil {
			return out, &core.Error{Code: core.Invalid, Message: "the callback has an invalid call id", Cause: err}
		}
		out.CallID = id
	}
	return out, nil
}
