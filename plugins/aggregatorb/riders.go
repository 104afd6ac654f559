package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// riderStates maps the rider statuses of the API specification to B's names.
var riderStates = map[string]string{
	"ASSIGNED": "rider_assigned", "UNASSIGNED": "rider_unassigned", "AT-STORE": "rider_at_store",
	"OUT-FOR-DELIVERY": "picked_up", "RIDER-REACHED": "rider_at_customer", "DELIVERED": "delivered",
	"NO-RIDER-FOUND": "no_rider",
}

type deliveryState struct {
	State string `json:"state"`
	Rider *rider `json:"rider,omitempty"`
	At    string `json:"at"`
}

type rider struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
}

type position struct {
	Lat json.Number `json:"lat"`
	Lng json.Number `json:"lng"`
	At  string      `json:"at"`
}

const skipPartnerDelivery = "riders are relayed for self-delivery orders only"

// PlanRiderStatus plans the update of a rider's status. It does not depend on earlier updates, because the hub keeps
// the order.
func (plugin) PlanRiderStatus(_ context.Context, request *pb.RiderStatusRequest) (*sdk.Decision, error) {
	if request.GetOrder().GetDeliveryType() != "self" {
		return sdk.Skip(skipPartnerDelivery)
	}
	state, known := riderStates[request.GetStatus()]
	if !known {
		return nil, sdk.Refusef("status %q is no rider status", request.GetStatus())
	}
	body := deliveryState{State: state, At: instant(request.GetChangedAt())}
	if request.GetRiderName() != "" || request.GetRiderPhoneNumber() != "" {
		body.Rider = &rider{request.GetRiderName(), request.GetRiderPhoneNumber()}
	}
	return send(request.GetCall(), delivery, http.MethodPost, orderPath(request.GetOrder())+"/delivery-state", body)
}

// PlanRiderLocation plans the update of a rider's location.
func (plugin) PlanRiderLocation(_ context.Context, request *pb.RiderLocationRequest) (*sdk.Decision, error) {
	if request.GetOrder().GetDeliveryType() != "self" {
		return sdk.Skip(skipPartnerDelivery)
	}
	lat, err := sdk.Number("latitude", request.GetLatitude())
	if err != nil {
		return nil, err
	}
	lng, err := sdk.Number("longitude", request.GetLongitude())
	if err != nil {
		return nil, err
	}
	return send(request.GetCall(), delivery, http.MethodPut, orderPath(request.GetOrder())+"/rider-position",
		position{lat, lng, instant(request.GetSeenAt())})
}

func orderPath(order *sdk.Order) string {
	return "/api/orders/" + url.PathEscape(order.GetPlatformOrderId())
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
