package sdk

import "slices"

// Preparing is the status of an order whose kitchen has started.
const Preparing = "Preparing"

// courierStatuses are the statuses of a courier.
var courierStatuses = []string{"ASSIGNED", "UNASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED",
	"NO-RIDER-FOUND"}

// hasFollowUp reports whether a translation is about an order that is elsewhere.
func hasFollowUp(t *Translation) bool { return t.GetCourier() != nil || t.GetRelease() != nil }

// followUp checks what a translation says about an order that is elsewhere.
func (c *validation) followUp(t *Translation) {
	if courier := t.GetCourier(); courier != nil {
		c.courier(courier)
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
