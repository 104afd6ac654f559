package order

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// FollowUp is what a platform sends about one of its orders beside the order itself. It may arrive before its order,
// and more than once. Exactly one pointer is set.
type FollowUp struct {
	Platform        string         `json:"-"`
	PlatformOrderID string         `json:"-"`
	Courier         *CourierReport `json:"courier,omitzero"`
	Release         *Release       `json:"release,omitzero"`
	Update          *Update        `json:"update,omitzero"`
}

// Release says that the kitchen may prepare an order now.
type Release struct{}

// FollowUpResult is the result of a follow-up. OrderID is 0 while it waits for its order.
type FollowUpResult struct {
	OrderID int64
	Text    string // for people
}

// CourierReport is the state of the courier of a platform.
type CourierReport struct {
	Status   RiderStatus `json:"status,omitzero"` // "": only the location is new
	Rider    Rider       `json:"rider"`
	Location *Location   `json:"location,omitzero"`
}

// Location is where a rider was.
type Location struct {
	Latitude  string `json:"latitude"` // decimal degrees
	Longitude string `json:"longitude"`
	At        int64  `json:"at"` // epoch milliseconds
}

// Kind names what a follow-up has.
func (f FollowUp) Kind() string {
	switch {
	case f.Release != nil:
		return "release"
	case f.Update != nil:
		return "update"
	}
	return "courier"
}

// Actor is the actor of what a follow-up changes.
func (f FollowUp) Actor() string { return "platform:" + f.Platform }

// Check returns an Invalid error for a follow-up that cannot be applied to any order. It completes one that can.
func (f *FollowUp) Check(now time.Time) error {
	var v core.Violations
	p := fieldPath{v: &v}
	p.required("platform_order_id", f.PlatformOrderID, maxName)
	if f.Courier != nil {
		f.Courier.check(p, now)
	}
	if f.Update != nil {
		if err := f.Update.check(p); err != nil {
			return err
		}
	}
	return v.Err()
}

// check checks a report. A location without a time, or of the future, is of now.
func (c *CourierReport) check(p fieldPath, now time.Time) {
	switch {
	case c.Status == "" && c.Location == nil:
		p.fail("status", "required", "is required without a location")
	case c.Status != "" && !slices.Contains(RiderStatuses(), c.Status):
		notAllowed(p, "status", c.Status, RiderStatuses()...)
	}
	c.Rider = Rider{sanitize(strings.TrimSpace(c.Rider.Name), maxName),
		sanitize(strings.TrimSpace(c.Rider.Phone), maxName)}
	if at := c.Location; at != nil {
		at.Latitude = p.decimalDegrees("location.latitude", at.Latitude, 90)
		at.Longitude = p.decimalDegrees("location.longitude", at.Longitude, 180)
		if at.At <= 0 || at.At > now.UnixMilli() {
			at.At = now.UnixMilli()
		}
	}
}

// decimalDegrees checks a text and returns it in plain form.
func (p fieldPath) decimalDegrees(field, sent string, limit int64) string {
	parsed, err := core.ParseAmount(sent)
	if err != nil {
		p.fail(field, errDegrees.Code, errDegrees.Rule)
		return sent
	}
	p.degrees(field, degrees(parsed.String()), limit)
	return parsed.String()
}

// Update returns the status that a report sets.
func (c CourierReport) Update(business core.BusinessID, orderID int64, platform string) RiderUpdate {
	return RiderUpdate{Business: business, Actor: "platform:" + platform, OrderID: orderID, Status: c.Status,
		Rider: c.Rider, Platform: platform, Location: c.Location}
}

// CourierIgnored returns why the reports of a platform's courier do not concern an order, or "" if they do. An empty
// mode means that the order is not for delivery.
func CourierIgnored(mode DeliveryMode) string {
	switch mode {
	case PartnerDelivery:
		return ""
	case "":
		return "the order is not for delivery"
	}
	return fmt.Sprintf("the merchant delivers the order: its delivery_type is %s", mode)
}

// Released returns the body of an order_released event. It returns a Conflict for an order that has ended.
func Released(subject Subject, state State, at time.Time) ([]byte, error) {
	if len(state.Next()) == 0 {
		return nil, core.Errorf(core.Conflict, "the order is %s, so the kitchen cannot start", state)
	}
	var body struct {
		OrderID   int64  `json:"order_id"`
		StoreID   string `json:"store_id"`
		Timestamp string `json:"timestamp"`
		Unix      int64  `json:"timestamp_unix"`
		More      struct {
			ExternalChannel externalChannel `json:"external_channel"`
		} `json:"additional_info"`
	}
	body.OrderID, body.StoreID = subject.OrderID, subject.StoreRefID
	body.Timestamp, body.Unix = at.UTC().Format("2006-01-02T15:04:05.000Z"), at.Unix()
	body.More.ExternalChannel = subject.channel()
	return json.Marshal(&body)
}
