package sdk

import "slices"

// Preparing is the status of an order whose kitchen has started.
const Preparing = "Preparing"

// courierStatuses are the statuses of a courier.
var courierStatuses = []string{"ASSIGNED", "UNASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED",
	"NO-RIDER-FOUND"}

// hasFollowUp reports whether a translation is about an order that is elsewhere.
func hasFollowUp(t *Translation) bool {
	return t.GetCourier() != nil || t.GetRelease() != nil || t.GetOrderUpdate() != nil
}

// followUp checks what a translation says about an order that is elsewhere.
func (c *validation) followUp(t *Translation) {
	if courier := t.GetCourier(); courier != nil {
		c.courier(courier)
	}
	if update := t.GetOrderUpdate(); update != nil {
		c.orderUpdate(update)
	}
	if release := t.GetRelease(); release != nil {
		c.check(release.GetPlatformOrderId() != "", "release: platform_order_id: is required")
	}
}

func (c *validation) courier(r *CourierReport) {
	c.check(r.GetPlatformOrderId() != "", "courier: platform_order_id: is required")
	c.check(r.GetStatus() != "" || r.GetLocation() != nil, "courier: status: is required without a location")
	c.check(r.GetStatus() == "" || slices.Contains(courierStatuses, r.GetStatus()),
		"courier: status: %q must be one of %q", r.GetStatus(), courierStatuses)
	c.fields("courier.", r.ProtoReflect())
	if at := r.GetLocation(); at != nil {
		c.check(at.GetLatitude() != "" && at.GetLongitude() != "", "courier.location: needs latitude and longitude")
	}
}

// maxChangeID bounds the id of a change, in bytes.
const maxChangeID = 255

func (c *validation) orderUpdate(u *OrderUpdate) {
	c.check(u.GetPlatformOrderId() != "", "order_update: platform_order_id: is required")
	c.check(u.GetChangeId() != "" && len(u.GetChangeId()) <= maxChangeID,
		"order_update: change_id: is required, with at most %d bytes", maxChangeID)
	c.check(u.GetOrder() != nil, "order_update: order: is required")
	if u.GetOrder() == nil {
		return
	}
	c.check(u.GetOrder().GetPlatformOrderId() == u.GetPlatformOrderId(),
		"order_update: order.platform_order_id: must be that of the update")
	order := &validation{}
	order.order(u.GetOrder())
	for _, err := range order.list {
		c.check(false, "order_update: order: %v", err)
	}
	c.more += order.more
}
