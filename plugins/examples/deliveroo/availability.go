package main

import (
	"cmp"
	"context"
	"net/http"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type siteStatus struct {
	Status string `json:"status"`
}

// PlanStoreAction plans the opening or closing of a site.
func (plugin) PlanStoreAction(_ context.Context, request *pb.StoreActionRequest) (*sdk.Decision, error) {
	s, err := brandSettings(request.GetCall())
	if err != nil {
		return nil, err
	}
	site := cmp.Or(request.GetPlatformStoreId(), request.GetStoreRefId())
	body := siteStatus{"CLOSED"}
	if request.GetOpen() {
		body.Status = "OPEN"
	}
	return send(http.MethodPut, sitePath("/site/v1", s, site)+"/status", body)
}

type unavailabilities struct {
	Items []unavailability `json:"item_unavailabilities"`
}

type unavailability struct {
	ItemID string `json:"item_id"`
	Status string `json:"status"`
}

// PlanItemAction plans the enabling or disabling of items and options.
func (plugin) PlanItemAction(_ context.Context, request *pb.ItemActionRequest) (*sdk.Decision, error) {
	s, err := brandSettings(request.GetCall())
	if err != nil {
		return nil, err
	}
	status := "unavailable" // sold out for the day
	if request.GetAvailable() {
		status = "available"
	}
	body := unavailabilities{}
	for _, ref := range request.GetItemRefIds() {
		body.Items = append(body.Items, unavailability{ref, status})
	}
	for _, ref := range request.GetOptionRefIds() {
		body.Items = append(body.Items, unavailability{optionPrefix + ref, status})
	}
	site := cmp.Or(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(http.MethodPost, sitePath("/menu/v2", s, site)+"/menu/item_unavailabilities", body)
}

// InterpretAvailability interprets the response. Deliveroo rejects all items of a request if it does not know one.
func (plugin) InterpretAvailability(_ context.Context, _ *sdk.Call, _ string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	return outcomeOf(response), nil
}
