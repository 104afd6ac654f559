package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type opening struct {
	Accepts bool   `json:"acceptsOrders"`
	At      string `json:"at"`
}

type stock struct {
	InStock bool     `json:"inStock"`
	Dishes  []string `json:"dishIds"`
	AddOns  []string `json:"addOnIds"`
	At      string   `json:"at"`
}

// PlanStoreAction plans the opening or closing of a store.
func (plugin) PlanStoreAction(_ context.Context, request *pb.StoreActionRequest) (*sdk.Decision, error) {
	path := restaurantPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(request.GetCall(), catalogue, http.MethodPut, path+"/opening",
		opening{request.GetOpen(), instant(request.GetChangedAt())})
}

type listing struct {
	Listed bool `json:"listed"`
}

// PlanUnlist plans the removal of a store. A response of 404 is a success.
func (plugin) PlanUnlist(_ context.Context, request *pb.UnlistRequest) (*sdk.Decision, error) {
	path := restaurantPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	decision, err := send(request.GetCall(), catalogue, http.MethodPut, path+"/listing", listing{false})
	decision.GetPlan().Success.Statuses = []int32{http.StatusOK, http.StatusCreated, http.StatusAccepted,
		http.StatusNonAuthoritativeInfo, http.StatusNoContent, http.StatusResetContent, http.StatusNotFound}
	return decision, err
}

// PlanItemAction plans the enabling or disabling of items and options.
func (plugin) PlanItemAction(_ context.Context, request *pb.ItemActionRequest) (*sdk.Decision, error) {
	path := restaurantPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(request.GetCall(), catalogue, http.MethodPost, path+"/stock", stock{
		request.GetAvailable(), append([]string{}, request.GetItemRefIds()...),
		append([]string{}, request.GetOptionRefIds()...), instant(request.GetChangedAt())})
}

func restaurantPath(id, ref string) string {
	return "/api/restaurants/" + url.PathEscape(cmp.Or(id, ref))
}

// InterpretAvailability interprets the response. B rejects only unknown objects, and disabling these is not an error.
func (plugin) InterpretAvailability(_ context.Context, _ *sdk.Call, action string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	outcome := readPublishResult(response)
	if action == sdk.Disable {
		outcome.Errors = nil
	}
	return outcome, nil
}
