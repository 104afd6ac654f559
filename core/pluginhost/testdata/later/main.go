// Later is a plugin of an aggregator that accepts requests, and reports their outcomes later.
package main

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type later struct{}

func main() { sdk.Serve(later{}) }

// Describe returns the description.
func (later) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "later", Version: "1.0.0", DisplayName: "Later",
		Endpoints: []*pb.Endpoint{{Name: "gateway", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "events_key"}},
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "events_key",
			OrderId: "/order/id"}},
		SettingsSchema: []byte(`{"type":"object","examples":[{}]}`),
		Limits:         &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

func send(path string, body any) (*sdk.Decision, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return sdk.Send(&sdk.Plan{Endpoint: "gateway", Method: "POST", Path: path, Body: text})
}

// CheckItems warns about questions, and rejects shouting.
func (later) CheckItems(_ context.Context, _ *sdk.Call, items []*sdk.Item) (found []*sdk.Finding, err error) {
	for _, item := range items {
		if strings.HasSuffix(item.GetTitle(), "?") {
			found = append(found, &sdk.Finding{RefId: item.GetRefId(), Rule: "question", Message: "is a question",
				Severity: pb.FindingSeverity_FINDING_SEVERITY_WARNING})
		}
		if strings.HasSuffix(item.GetTitle(), "!") {
			found = append(found, &sdk.Finding{RefId: item.GetRefId(), Rule: "loud", Message: "is too loud"})
		}
	}
	return found, nil
}

// Render sends the names of the items. It omits empty option groups, and warns about categories and stores without a
// description.
func (later) Render(_ context.Context, _ *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	names, filled := []string{}, map[string]bool{}
	for _, item := range menu.GetItems() {
		names = append(names, item.GetTitle())
	}
	for _, option := range menu.GetOptions() {
		for _, group := range option.GetOptGrpRefIds() {
			filled[group] = true
		}
	}
	decision, err := send("/menus/"+url.PathEscape(menu.GetStore().GetRefId()), names)
	if err != nil {
		return nil, err
	}
	report := func(entity, ref, message string, severity pb.FindingSeverity) {
		decision.LeftOut = append(decision.LeftOut, &sdk.PublishError{Entity: entity, RefId: ref, Code: "incomplete",
			Message: message, Severity: severity})
	}
	for _, group := range menu.GetOptionGroups() {
		if !filled[group.GetRefId()] {
			report("option_group", group.GetRefId(), "has no options", pb.FindingSeverity_FINDING_SEVERITY_ERROR)
		}
	}
	for _, category := range menu.GetCategories() {
		if category.GetDescription() == "" {
			report("category", category.GetRefId(), "has no description of "+category.GetParentRefId(),
				pb.FindingSeverity_FINDING_SEVERITY_WARNING)
		}
	}
	return decision, nil
}

// receipt is the aggregator's response. Without a task it is the outcome.
type receipt struct {
	Task    string `json:"task"`
	Pending bool   `json:"pending"`
}

func interpret(response *sdk.Response) (*sdk.PublishOutcome, error) {
	var got receipt
	if err := json.Unmarshal(response.GetBody(), &got); err != nil || response.GetStatus() >= 400 {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY, Message: "not accepted"}, nil
	}
	if got.Task != "" || got.Pending {
		return sdk.Pending(got.Task, 10*time.Minute), nil
	}
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, nil
}

// InterpretPublish reads the task of a menu.
func (later) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	return interpret(response)
}

// InterpretAvailability reads the task of an availability change.
func (later) InterpretAvailability(_ context.Context, _ *sdk.Call, _ string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	return interpret(response)
}

// InterpretAcknowledge reads the task of an acknowledgement.
func (later) InterpretAcknowledge(_ context.Context, _ *sdk.Call,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	return interpret(response)
}

// PlanStoreAction opens or closes a store.
func (later) PlanStoreAction(_ context.Context, r *pb.StoreActionRequest) (*sdk.Decision, error) {
	if until := r.GetTurnOnAt(); until != 0 {
		return send("/stores/"+url.PathEscape(r.GetStoreRefId()), map[string]int64{"closed_until": until})
	}
	return send("/stores/"+url.PathEscape(r.GetStoreRefId()), r.GetOpen())
}

// PlanItemAction enables or disables items.
func (later) PlanItemAction(_ context.Context, r *pb.ItemActionRequest) (*sdk.Decision, error) {
	if until := r.GetTurnOnAt(); until != 0 {
		return send("/items/"+url.PathEscape(r.GetStoreRefId()),
			map[string]any{"items": r.GetItemRefIds(), "sold_out_until": until})
	}
	return send("/items/"+url.PathEscape(r.GetStoreRefId()), r.GetItemRefIds())
}

// PlanAcknowledge accepts or rejects an order.
func (later) PlanAcknowledge(_ context.Context, r *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	return send("/orders/"+url.PathEscape(r.GetOrder().GetPlatformOrderId()), r.GetAccepted())
}

// event is a message of the aggregator.
type event struct {
	Order *struct {
		ID, Store, Item string
	} `json:"order"`
	Task    string `json:"task"`
	Kind    string `json:"kind"`
	Store   string `json:"store"`
	State   string `json:"state"`
	Message string `json:"message"`
	Items   []struct {
		ID, Why string
	} `json:"items"`
}

var states = map[string]pb.OutcomeState{
	"done": pb.OutcomeState_OUTCOME_STATE_DONE, "failed": pb.OutcomeState_OUTCOME_STATE_FAILED,
	"retry": pb.OutcomeState_OUTCOME_STATE_RETRY, "running": pb.OutcomeState_OUTCOME_STATE_PENDING,
}

var kinds = map[string]pb.OutcomeKind{
	"menu": pb.OutcomeKind_OUTCOME_KIND_MENU, "store": pb.OutcomeKind_OUTCOME_KIND_STORE_ACTION,
	"items": pb.OutcomeKind_OUTCOME_KIND_ITEM_ACTION,
}

// Translate reads an order, or the outcome of a task.
func (later) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	var got event
	if err := json.Unmarshal(request.GetBody(), &got); err != nil {
		return nil, sdk.Refusef("the body is no JSON")
	}
	if got.Order != nil {
		return sdk.Placed(&sdk.NewOrder{PlatformOrderId: got.Order.ID, StoreRefId: got.Order.Store,
			DeliveryType: "partner", Items: []*pb.OrderItem{{RefId: got.Order.Item, Quantity: 1}}})
	}
	if states[got.State] == 0 {
		return sdk.Ignored("no outcome")
	}
	outcome := &sdk.ReportedOutcome{Reference: got.Task, Kind: kinds[got.Kind], StoreRefId: got.Store,
		State: states[got.State], Message: got.Message}
	for _, item := range got.Items {
		outcome.Errors = append(outcome.Errors,
			&sdk.PublishError{Entity: "item", RefId: item.ID, Code: "rejected", Message: item.Why})
	}
	return sdk.Reported(outcome)
}
