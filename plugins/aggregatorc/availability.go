package main

import (
	"cmp"
	"context"
	"slices"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type shopStatus struct {
	Shop   string `json:"shop"`
	Status int    `json:"status"` // 1 open, 0 closed
}

type dishSwitch struct {
	Shop   string   `json:"shop"`
	On     bool     `json:"on"`
	Dishes []string `json:"dishes"`
	Extras []string `json:"extras"`
}

// PlanStoreAction plans the opening or closing of a store.
func (plugin) PlanStoreAction(_ context.Context, request *pb.StoreActionRequest) (*sdk.Decision, error) {
	body := shopStatus{Shop: cmp.Or(request.GetPlatformStoreId(), request.GetStoreRefId())}
	if request.GetOpen() {
		body.Status = 1
	}
	return send(request.GetCall(), "/gw/shop.status", body)
}

type shopListing struct {
	Shop   string `json:"shop"`
	Listed bool   `json:"listed"`
}

// PlanUnlist plans the removal of a store.
func (plugin) PlanUnlist(_ context.Context, request *pb.UnlistRequest) (*sdk.Decision, error) {
	return send(request.GetCall(), "/gw/shop.listing",
		shopListing{cmp.Or(request.GetPlatformStoreId(), request.GetStoreRefId()), false})
}

// PlanItemAction plans the enabling or disabling of items and options.
func (plugin) PlanItemAction(_ context.Context, request *pb.ItemActionRequest) (*sdk.Decision, error) {
	return send(request.GetCall(), "/gw/dish.switch", dishSwitch{
		cmp.Or(request.GetPlatformStoreId(), request.GetStoreRefId()), request.GetAvailable(),
		append([]string{}, request.GetItemRefIds()...), append([]string{}, request.GetOptionRefIds()...)})
}

// unknownDish is the gateway's code for an object that the menu does not have.
const unknownDish = "404"

// InterpretAvailability interprets the response. Disabling an unknown object is not an error.
func (plugin) InterpretAvailability(_ context.Context, _ *sdk.Call, action string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	outcome, err := readPublishResult(response)
	if err == nil && action == sdk.Disable {
		outcome.Errors = slices.DeleteFunc(outcome.Errors,
			func(e *pb.PublishError) bool { return e.GetCode() == unknownDish })
	}
	return outcome, err
}
