package main

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/servery-hub/servery/plugins/sdk"
)

// riderEvent is what Deliveroo sends about the riders of an order. A large order has several.
type riderEvent struct {
	OrderID string  `json:"order_id"`
	Riders  []rider `json:"riders"`
}

type rider struct {
	Name         string      `json:"full_name"`
	Phone        string      `json:"contact_number"`
	BridgeNumber string      `json:"bridge_number"`
	BridgeCode   string      `json:"bridge_code"` // to dial after the number
	Latitude     json.Number `json:"lat"`
	Longitude    json.Number `json:"lon"`
	At           time.Time   `json:"at"` // of the location
	Log          []struct {
		At     time.Time `json:"at"`
		Status string    `json:"status"`
	} `json:"status_log"`
}

// latest returns the last status of a rider, and its time.
func (r rider) latest() (status string, at time.Time) {
	for _, entry := range r.Log {
		if !entry.At.Before(at) {
			status, at = entry.Status, entry.At
		}
	}
	return status, at
}

// riderStatuses are the hub's statuses by those of Deliveroo.
var riderStatuses = map[string]string{"rider_assigned": "ASSIGNED", "rider_unassigned": "UNASSIGNED",
	"rider_arrived": "AT-STORE", "rider_confirmed_at_restaurant": "AT-STORE", "rider_in_transit": "OUT-FOR-DELIVERY",
	"rider_nearby": "RIDER-REACHED", "rider_delivered": "DELIVERED"}

// translateRider reports the rider whose status is the latest.
func translateRider(sent riderEvent) (*sdk.Translation, error) {
	if sent.OrderID == "" {
		return nil, sdk.Refusef("body.order_id is required")
	}
	report := &sdk.CourierReport{PlatformOrderId: sent.OrderID}
	var last time.Time
	for _, r := range sent.Riders {
		status, at := r.latest()
		if riderStatuses[status] == "" || at.Before(last) {
			continue
		}
		last = at
		report.Status, report.Name = riderStatuses[status], r.Name
		report.Phone, report.Location = cmp.Or(r.Phone, bridge(r)), locationOf(r)
	}
	if report.Status == "" {
		return sdk.Ignored("no rider has a status that the plugin knows")
	}
	return sdk.Courier(report)
}

// bridge returns a number that forwards to the rider.
func bridge(r rider) string {
	if r.BridgeNumber == "" || r.BridgeCode == "" {
		return r.BridgeNumber
	}
	return r.BridgeNumber + ", " + r.BridgeCode
}

// locationOf returns where a rider was, or nil. Deliveroo sends 0 for an unknown location.
func locationOf(r rider) *sdk.CourierLocation {
	latitude, _ := r.Latitude.Float64()
	longitude, _ := r.Longitude.Float64()
	if latitude == 0 && longitude == 0 {
		return nil
	}
	at := &sdk.CourierLocation{Latitude: r.Latitude.String(), Longitude: r.Longitude.String()}
	if !r.At.IsZero() {
		at.At = r.At.UnixMilli()
	}
	return at
}
