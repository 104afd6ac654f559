// Command linked is a plugin of an aggregator whose webhooks only have links to orders.
package main

import (
	"context"

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
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "X-Key", Secret: "webhook_key", OrderId: "/id"}},
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

// PlanStoreAction names the menu by the ids that an event and the last response had.
func (plugin) PlanStoreAction(_ context.Context, r *pb.StoreActionRequest) (*sdk.Decision, error) {
	call := r.GetCall()
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menus/"+sdk.Value(call, "menu_id")+"/"+sdk.Value(call, "revision")+
		"/"+sdk.Value(call, "last_event"), map[string]bool{"open": r.GetOpen()}))
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
