package order

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// RiderStatus is the status of an order's rider.
type RiderStatus string

// The statuses of a rider.
const (
	Assigned       RiderStatus = "ASSIGNED"
	Unassigned     RiderStatus = "UNASSIGNED"
	AtStore        RiderStatus = "AT-STORE"
	OutForDelivery RiderStatus = "OUT-FOR-DELIVERY"
	RiderReached   RiderStatus = "RIDER-REACHED"
	Delivered      RiderStatus = "DELIVERED"
	NoRiderFound   RiderStatus = "NO-RIDER-FOUND"
)

// RiderStatuses returns every status, in a fixed order.
func RiderStatuses() []RiderStatus {
	return []RiderStatus{Assigned, Unassigned, AtStore, OutForDelivery, RiderReached, Delivered, NoRiderFound}
}

// Rider is a person who delivers orders. An unknown field is empty.
type Rider struct {
	Name  string `json:"name,omitzero"`
	Phone string `json:"phone,omitzero"`
}

// matches reports whether two riders can be the same person. It compares their phone numbers if both are known, however
// they are formatted, and otherwise their names. An unknown name matches any.
func (r Rider) matches(other Rider) bool {
	if r.Phone != "" && other.Phone != "" {
		return r.Phone == other.Phone || sameNumber(significantDigits(r.Phone), significantDigits(other.Phone))
	}
	return r.Name == "" || other.Name == "" || r.Name == other.Name
}

// The number of trailing digits that identify a phone number, at most and at least. Only some systems prefix the
// country code, or a 0.
const (
	maxPhoneDigits = 10
	minPhoneDigits = 7
)

// significantDigits returns the digits that identify a phone number, without its formatting.
func significantDigits(phone string) string {
	digits := strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone), "0")
	return digits[max(0, len(digits)-maxPhoneDigits):]
}

// sameNumber reports whether two numbers from dialled are equal. The shorter one may lack the country code.
func sameNumber(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b && a != "" || len(a) >= minPhoneDigits && strings.HasSuffix(b, a)
}

// Delivery is the state of an order's delivery: the last status of its rider, "" before the first, and the rider.
type Delivery struct {
	Status RiderStatus
	Rider  Rider
}

var (
	errReassigned = invalidField("rider_data", "reassigned",
		"is not the assigned rider: send UNASSIGNED first, then ASSIGNED")
	errDelivered = core.Errorf(core.Conflict, "the order is already DELIVERED, so its rider has no further status")
)

func invalidField(field, code, rule string) error {
	var v core.Violations
	v.AddBody(field, code, rule)
	return v.Err()
}

// Move returns the delivery after a status, and whether it changed. A repeated status changes nothing, unless it adds
// unknown details of the rider. UNASSIGNED and NO-RIDER-FOUND remove the rider. ASSIGNED to another rider is Invalid
// unless one of them came between. Any other status keeps the assigned rider, even if it names another. After DELIVERED
// nothing changes, and any other status is a Conflict.
func (d Delivery) Move(to RiderStatus, rider Rider) (next Delivery, changed bool, err error) {
	if d.Status == Delivered {
		if to != Delivered {
			return d, false, errDelivered
		}
		return d, false, nil
	}
	if to == Unassigned || to == NoRiderFound { // the rider is removed, even if the request names one
		return Delivery{Status: to}, d.Status != to, nil
	}
	if !d.Rider.matches(rider) {
		if to == Assigned {
			return d, false, errReassigned
		}
		rider = Rider{}
	}
	next = Delivery{to, Rider{cmp.Or(d.Rider.Name, rider.Name), cmp.Or(d.Rider.Phone, rider.Phone)}}
	return next, next != d, nil
}

// RiderUpdate is a request to set a rider's status.
type RiderUpdate struct {
	Business core.BusinessID
	Actor    string // who sends it, such as key:pos
	OrderID  int64
	Status   RiderStatus
	Rider    Rider
	Platform string     // the platform whose courier it is; "": the merchant's rider
	Location *Location  // of a platform's courier; nil if unknown
	Trace    core.Trace // of the request
}

// DecodeRiderUpdate decodes the body of a rider status. Any violation rejects it with an Invalid error that names the
// field.
func DecodeRiderUpdate(body []byte) (RiderUpdate, error) {
	var sent struct {
		OrderID core.PositiveInt `json:"order_id"`
		Status  RiderStatus      `json:"status"`
		Data    core.ObjectOrEmptyArray[struct {
			Name  string          `json:"rider_name"`
			Phone core.Identifier `json:"rider_phone_number"`
		}] `json:"rider_data"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return RiderUpdate{}, err
	}
	var v core.Violations
	p := fieldPath{v: &v}
	if sent.OrderID == 0 {
		p.fail("order_id", "required", "is required")
	}
	switch {
	case sent.Status == "":
		p.fail("status", "required", "is required")
	case !slices.Contains(RiderStatuses(), sent.Status):
		notAllowed(p, "status", sent.Status, RiderStatuses()...)
	}
	data := sent.Data.Value
	p.text("rider_data.rider_name", data.Name, maxName)
	p.text("rider_data.rider_phone_number", string(data.Phone), maxName)
	rider := Rider{strings.TrimSpace(data.Name), strings.TrimSpace(string(data.Phone))}
	return RiderUpdate{OrderID: int64(sent.OrderID), Status: sent.Status, Rider: rider}, v.Err()
}
