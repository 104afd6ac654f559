package order

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// RiderStatus is how far the rider of an order is (spec, States and transitions).
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

// RiderStatuses lists every status, in the order of the spec.
func RiderStatuses() []RiderStatus {
	return []RiderStatus{Assigned, Unassigned, AtStore, OutForDelivery, RiderReached, Delivered, NoRiderFound}
}

// Rider is a person who brings orders; what is not known is empty.
type Rider struct {
	Name  string `json:"name,omitzero"`
	Phone string `json:"phone,omitzero"`
}

// is tells whether two riders can be the same: by their phone numbers where both
// are known, however they are spelled, else by their names; somebody unknown can
// be anybody.
func (r Rider) is(other Rider) bool {
	if r.Phone != "" && other.Phone != "" {
		return r.Phone == other.Phone || sameNumber(dialled(r.Phone), dialled(other.Phone))
	}
	return r.Name == "" || other.Name == "" || r.Name == other.Name
}

// How many digits at the end of a number tell whose it is, at most and at least: some
// systems write the country's before them, or a 0, and others do not.
const (
	mostDigits   = 10
	fewestDigits = 7
)

// dialled is what tells a phone number from others, whatever stands between its digits.
func dialled(phone string) string {
	digits := strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone), "0")
	return digits[max(0, len(digits)-mostDigits):]
}

// sameNumber tells whether two dialled numbers are one, where the shorter may be
// without the country's digits.
func sameNumber(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b && a != "" || len(a) >= fewestDigits && strings.HasSuffix(b, a)
}

// Delivery is how the delivery of an order stands: the last status of its
// rider, "" before the first, and who the rider is.
type Delivery struct {
	Status RiderStatus
	Rider  Rider
}

var (
	errReassigned = refusal("rider_data", "reassigned", "names another rider than the one who is assigned; send UNASSIGNED first, then ASSIGNED")
	errOver       = core.Errorf(core.Conflict, "the order is DELIVERED already; its rider has no further status")
)

func refusal(field, code, rule string) error {
	var v core.Violations
	v.AddBody(field, code, rule)
	return v.Err()
}

// Move is where a status brings the delivery, and whether that changes anything:
// the same status again does not, unless it tells who the rider is where that was
// not known. With UNASSIGNED and NO-RIDER-FOUND there is no rider any more. ASSIGNED to
// another rider without one of them between is Invalid; with any other status the rider
// stays who was assigned, whoever it names. Anything after DELIVERED is a Conflict
// (contract, Riders).
func (d Delivery) Move(to RiderStatus, rider Rider) (next Delivery, changed bool, err error) {
	if d.Status == Delivered && to != Delivered {
		return d, false, errOver
	}
	if to == Unassigned || to == NoRiderFound { // whoever it names is the rider no longer
		return Delivery{Status: to}, d.Status != to, nil
	}
	if !d.Rider.is(rider) {
		if to == Assigned {
			return d, false, errReassigned
		}
		rider = Rider{}
	}
	next = Delivery{to, Rider{cmp.Or(d.Rider.Name, rider.Name), cmp.Or(d.Rider.Phone, rider.Phone)}}
	return next, next != d, nil
}

// RiderUpdate is a status of a rider on its way into the hub.
type RiderUpdate struct {
	Business core.BusinessID
	Actor    string // who sends it, such as key:pos
	OrderID  int64
	Status   RiderStatus
	Rider    Rider
	Trace    core.Trace // of the request
}

// DecodeRiderUpdate reads the body of a rider status (spec, Endpoint 6). Any
// violation refuses it with an Invalid error naming the field.
func DecodeRiderUpdate(body []byte) (RiderUpdate, error) {
	var sent struct {
		OrderID core.Whole  `json:"order_id"`
		Status  RiderStatus `json:"status"`
		Data    core.Members[struct {
			Name  string          `json:"rider_name"`
			Phone core.Identifier `json:"rider_phone_number"`
		}] `json:"rider_data"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return RiderUpdate{}, err
	}
	var v core.Violations
	p := spot{v: &v}
	if sent.OrderID == 0 {
		p.fail("order_id", "required", "is required")
	}
	switch {
	case sent.Status == "":
		p.fail("status", "required", "is required")
	case !slices.Contains(RiderStatuses(), sent.Status):
		p.other("status", string(sent.Status), "one of: "+namesOf(RiderStatuses()))
	}
	data := sent.Data.Value
	p.text("rider_data.rider_name", data.Name, maxName)
	p.text("rider_data.rider_phone_number", string(data.Phone), maxName)
	rider := Rider{strings.TrimSpace(data.Name), strings.TrimSpace(string(data.Phone))}
	return RiderUpdate{OrderID: int64(sent.OrderID), Status: sent.Status, Rider: rider}, v.Err()
}
