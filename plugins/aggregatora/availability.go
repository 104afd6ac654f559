package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type outletState struct {
	Open bool `json:"open"`
}

type availability struct {
	Available bool     `json:"available"`
	Products  []string `json:"products"`
	Modifiers []string `json:"modifiers"`
}

// PlanStoreAction plans the opening or closing of a store.
func (plugin) PlanStoreAction(_ context.Context, request *pb.StoreActionRequest) (*sdk.Decision, error) {
	path := outletPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(request.GetCall(), http.MethodPut, path+"/state", outletState{request.GetOpen()})
}

type outletPace struct {
	Busy    bool   `json:"busy"`
	Minutes int64  `json:"prep_minutes,omitempty"`
	Until   string `json:"until,omitempty"`
}

// PlanStoreBusy plans the notice of how busy a store is.
func (plugin) PlanStoreBusy(_ context.Context, request *pb.StoreBusyRequest) (*sdk.Decision, error) {
	pace := outletPace{Busy: request.GetBusy(), Minutes: request.GetPrepMinutes()}
	if until := request.GetUntil(); until != 0 {
		pace.Until = time.UnixMilli(until).UTC().Format(time.RFC3339)
	}
	path := outletPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(request.GetCall(), http.MethodPut, path+"/pace", pace)
}

type outletListing struct {
	Listed bool `json:"listed"`
}

// PlanUnlist plans the removal of a store. A response of 404 is a success.
func (plugin) PlanUnlist(_ context.Context, request *pb.UnlistRequest) (*sdk.Decision, error) {
	path := outletPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	decision, err := send(request.GetCall(), http.MethodPut, path+"/listing", outletListing{false})
	decision.GetPlan().Success.Statuses = []int32{http.StatusOK, http.StatusCreated, http.StatusAccepted,
		http.StatusNonAuthoritativeInfo, http.StatusNoContent, http.StatusResetContent, http.StatusNotFound}
	return decision, err
}

// PlanItemAction plans the enabling or disabling of products and modifiers.
func (plugin) PlanItemAction(_ context.Context, request *pb.ItemActionRequest) (*sdk.Decision, error) {
	path := outletPath(request.GetPlatformStoreId(), request.GetStoreRefId())
	return send(request.GetCall(), http.MethodPost, path+"/availability",
		availability{request.GetAvailable(), nonNil(request.GetItemRefIds()), nonNil(request.GetOptionRefIds())})
}

func outletPath(id, reference string) string {
	return "/v2/outlets/" + url.PathEscape(cmp.Or(id, reference))
}

// InterpretAvailability interprets the response. Disabling an unknown object is not an error.
func (plugin) InterpretAvailability(_ context.Context, _ *sdk.Call, action string,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	outcome, err := readPublishResult(response)
	if err == nil && action == sdk.Disable {
		outcome.Errors = slices.DeleteFunc(outcome.Errors,
			func(e *pb.PublishError) bool { return e.GetCode() == "unknown" })
	}
	return outcome, err
}
