// Command linked is a plugin of an aggregator whose webhooks only have links to orders.
package main

import (
	"context"
	"net/url"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "linked", Version: "1.0.0", DisplayName: "Aggregator with links",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "webhook_key"}, {Name: "api_key"}},
		Actions:   []*pb.ActionOffer{{Name: "double", Title: "Double the order"}},
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "webhook_key", OrderId: "/id"},
			{Kind: "menu", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MENU,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "webhook_key"}},
		SettingsSchema: []byte(`{"type":"object","examples":[{}]}`),
	}, nil
}

// event is a webhook of the aggregator.
type event struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Link string `json:"link"`

	Menu, Store string // the id of a menu of a store, by the ids of the aggregator
}

// Translate fetches the order that an event has a link to.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	var sent event
	if err := sdk.ReadJSON("event", request.GetBody(), &sent); err != nil {
		return nil, err
	}
	switch {
	case sent.Menu != "":
		translation, err := sdk.Ignored("the id of the menu is kept")
		translation.Keep = []*sdk.KeptValue{{Name: "menu_id", Value: sent.Menu, PlatformStoreId: sent.Store},
			sdk.KeepForPlatform("last_event", sent.ID)}
		return translation, err
	case sent.Type == "cancelled":
		return sdk.Cancelled(sent.ID, "changed their mind")
	case sent.Link == "":
		return sdk.Ignored("the event has no link")
	}
	translation, err := sdk.Fetch(&sdk.Plan{Endpoint: "api", Method: "GET", Url: sent.Link,
		SecretHeaders: []*sdk.SecretHeader{{Header: "Authorization", Secret: "api_key", Template: "Bearer {secret}"}},
		Success:       &sdk.SuccessRule{FinalStatuses: []int32{410}}}, sent.ID)
	translation.Reply = sdk.Reply(202, "text/plain", []byte("thanks"))
	return translation, err
}

// TranslateFetched reads an order.
func (plugin) TranslateFetched(_ context.Context, _ *sdk.Call, _ *sdk.InboundRequest,
	response *sdk.Response) (*sdk.Translation, error) {
	var fetched struct {
		ID     string `json:"id"`
		Store  string `json:"store"`
		Item   string `json:"item"`
		Status string `json:"status"`
		Name   string `json:"name"`
	}
	if err := sdk.ReadJSON("order", response.GetBody(), &fetched); err != nil {
		return nil, err
	}
	if fetched.ID == "" || fetched.Store == "" || fetched.Item == "" {
		return nil, sdk.Refusef("order: id, store and item are required")
	}
	if fetched.Status == "cancelled" {
		return sdk.Cancelled(fetched.ID, "")
	}
	return sdk.Placed(&sdk.NewOrder{PlatformOrderId: fetched.ID, StoreRefId: fetched.Store, DeliveryType: "self",
		Customer: &pb.Customer{Name: fetched.Name}, Items: []*pb.OrderItem{{RefId: fetched.Item, Quantity: 1}}})
}

// ServeMenu serves the id that an event had.
func (plugin) ServeMenu(_ context.Context, r *sdk.ServeRequest) (*sdk.InboundReply, error) {
	return sdk.Reply(200, "text/plain", []byte(sdk.Value(r.GetCall(), "menu_id"))), nil
}

// PlanAction asks for twice as much.
func (plugin) PlanAction(_ context.Context, r *pb.ActionRequest) (*sdk.Decision, error) {
	if r.GetAction() != "double" {
		return nil, sdk.Refusef("the action is not offered")
	}
	id := url.PathEscape(r.GetOrder().GetPlatformOrderId())
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "POST", Path: "/orders/" + id + "/double"})
}

// InterpretResponse reads the changed order, whose change has the id of the order.
func (plugin) InterpretResponse(_ context.Context, _ *sdk.Call, action string,
	response *sdk.Response) (*sdk.ActionOutcome, error) {
	var changed struct {
		ID, Store, Item string
		Quantity        int64
	}
	if err := sdk.ReadJSON("response", response.GetBody(), &changed); err != nil {
		return nil, err
	}
	if changed.ID == "" {
		return nil, sdk.Refusef("response: id is required")
	}
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Action: action, PlatformOrderId: changed.ID,
		OrderUpdate: &sdk.OrderUpdate{PlatformOrderId: changed.ID, ChangeId: changed.ID, Reason: "doubled",
			Order: &sdk.NewOrder{PlatformOrderId: changed.ID, StoreRefId: changed.Store, DeliveryType: "self",
				Items: []*pb.OrderItem{{RefId: changed.Item, Quantity: changed.Quantity}}}}}, nil
}

// PlanStoreAction names the menu by the ids that an event and the last response had.
func (plugin) PlanStoreAction(_ context.Context, r *pb.StoreActionRequest) (*sdk.Decision, error) {
	call := r.GetCall()
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menus/"+sdk.Value(call, "menu_id")+"/"+sdk.Value(call, "revision")+
		"/"+sdk.Value(call, "last_event"), map[string]bool{"open": r.GetOpen()}))
}

// PlanItemAction names the items that change.
func (plugin) PlanItemAction(_ context.Context, r *pb.ItemActionRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "api", "/items", map[string]any{"items": r.GetItemRefIds(),
		"on": r.GetAvailable()}))
}

// PlanFullItemAction replaces all unavailable items and options.
func (plugin) PlanFullItemAction(_ context.Context, r *pb.ItemActionRequest) (*sdk.Decision, error) {
	items, options := r.GetUnavailableItemRefIds(), r.GetUnavailableOptionRefIds()
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "PUT",
		Path: "/unavailable/items=" + url.PathEscape(strings.Join(items, "+")) + "/options=" +
			url.PathEscape(strings.Join(options, "+"))})
}

// InterpretAvailability keeps the revision of the response. Without one it is removed.
func (plugin) InterpretAvailability(_ context.Context, _ *sdk.Call, _ string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	var read struct{ Revision string }
	if err := sdk.ReadJSON("response", response.GetBody(), &read); err != nil {
		return nil, err
	}
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE,
		Keep: []*sdk.KeptValue{sdk.Keep("revision", read.Revision)}}, nil
}
