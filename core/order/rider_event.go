package order

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// RiderStep is one status in a rider's history.
type RiderStep struct {
	Status RiderStatus `json:"status"`
	At     int64       `json:"at"` // epoch milliseconds
	Rider
	Actor    string      `json:"actor"`
	Location *Location   `json:"location,omitzero"` // the latest with this status; nil if unknown
	Relay    *RiderRelay `json:"relay,omitzero"`    // nil if there is no platform to send it to
}

// RiderRelay is the result of sending a status to the platform.
type RiderRelay struct {
	State   string `json:"state"` // waiting, done, failed or skipped
	Message string `json:"message,omitzero"`
}

// RiderHistory are the statuses of an order's rider, oldest first.
type RiderHistory []RiderStep

// Delivery returns the state of the delivery after them.
func (r RiderHistory) Delivery() Delivery {
	if len(r) == 0 {
		return Delivery{}
	}
	last := r[len(r)-1]
	return Delivery{last.Status, last.Rider}
}

// APIRider is the rider of an order in the API.
type APIRider struct {
	Status RiderStatus `json:"status"`
	Rider
	History RiderHistory `json:"history"`
}

// toAPI returns nil before the first status.
func (r RiderHistory) toAPI() *APIRider {
	if len(r) == 0 {
		return nil
	}
	now := r.Delivery()
	return &APIRider{now.Status, now.Rider, r}
}

// Tracking is the part of an order that its rider statuses depend on.
type Tracking struct {
	Subject
	State        State // of the order
	StoreID      int64
	DeliveryMode DeliveryMode
	History      RiderHistory
}

// CheckSelfDelivery returns Invalid if the merchant does not deliver the order. An empty mode means that the order is
// not for delivery.
func CheckSelfDelivery(mode DeliveryMode) error {
	switch mode {
	case SelfDelivery:
		return nil
	case "":
		return invalidField("order_id", "order_type", "is not a delivery order, so it has no rider")
	default:
		return invalidField("order_id", "delivery_type",
			"is not a self-delivery order: the platform's riders deliver it")
	}
}

// Trackable reports whether a rider's location may still be sent. After the order ends or is delivered, it is private.
func Trackable(state State, last RiderStatus) bool {
	return len(state.Next()) > 0 && last != Delivered
}

// maxRiderStatuses bounds the statuses of one order, because each event lists them all.
const maxRiderStatuses = 500

// AddStatus adds a status, if it changes anything, and returns the body of its rider_status_update event. Assigning a
// rider to a cancelled order is a Conflict. Other errors are those of Delivery.Move. A platform may replace its courier
// without UNASSIGNED.
func (r *Tracking) AddStatus(update RiderUpdate, at int64) (changed bool, event []byte, err error) {
	if err := r.checkCarrier(update); err != nil {
		return false, nil, err
	}
	now := r.History.Delivery()
	if update.Platform != "" && !now.Rider.matches(update.Rider) {
		now.Rider = Rider{}
	}
	next, changed, err := now.Move(update.Status, update.Rider)
	if err != nil || !changed {
		return false, nil, err
	}
	if update.Status == Assigned && r.State == Cancelled {
		return false, nil, core.Errorf(core.Conflict, "the order is %s, so no rider can be assigned", r.State)
	}
	if len(r.History) >= maxRiderStatuses {
		return false, nil, core.Errorf(core.Conflict, "the order already has %d rider statuses, the maximum",
			maxRiderStatuses)
	}
	if !Trackable(r.State, next.Status) || next.Status == Unassigned || next.Status == NoRiderFound {
		update.Location = nil // it is private, or the order has no rider
	}
	history := append(slices.Clip(r.History),
		RiderStep{Status: next.Status, At: at, Rider: next.Rider, Actor: update.Actor, Location: update.Location})
	if event, err = riderStatusUpdate(*r, history); err != nil {
		return false, nil, err
	}
	r.History = history
	return true, event, nil
}

// checkCarrier returns an error if the rider of an update does not deliver the order.
func (r *Tracking) checkCarrier(update RiderUpdate) error {
	if update.Platform == "" {
		return CheckSelfDelivery(r.DeliveryMode)
	}
	if why := CourierIgnored(r.DeliveryMode); why != "" {
		return invalidField("platform_order_id", "delivery_type", why)
	}
	return nil
}

// Locate updates the location of the rider with the latest status, and reports whether it did. An earlier location
// changes nothing, nor does one after the end of the delivery.
func (r *Tracking) Locate(at Location) bool {
	n := len(r.History)
	if n == 0 || !Trackable(r.State, r.History[n-1].Status) {
		return false
	}
	last := &r.History[n-1]
	if last.Location != nil && last.Location.At >= at.At {
		return false
	}
	last.Location = &at
	return true
}

func riderStatusUpdate(r Tracking, history RiderHistory) ([]byte, error) {
	type statusUpdate struct {
		Status   RiderStatus `json:"status"`
		Created  int64       `json:"created"`
		Comments string      `json:"comments"`
	}
	type person struct {
		Name     string    `json:"name"`
		Phone    string    `json:"phone"`
		AltPhone string    `json:"alt_phone"` // both unknown to the hub, but receivers read them
		UserID   *int64    `json:"user_id"`
		Location *Location `json:"location,omitzero"`
	}
	var body struct {
		OrderID int64 `json:"order_id"`
		Store   struct {
			ID    int64  `json:"id"`
			RefID string `json:"ref_id"`
		} `json:"store"`
		Delivery struct {
			State   RiderStatus    `json:"current_state"`
			Mode    DeliveryMode   `json:"mode"`
			Person  person         `json:"delivery_person_details"`
			Updates []statusUpdate `json:"status_updates"`
		} `json:"delivery_info"`
		More struct {
			ExternalChannel externalChannel `json:"external_channel"`
		} `json:"additional_info"`
	}
	now := history.Delivery()
	body.OrderID, body.Store.ID, body.Store.RefID = r.OrderID, r.StoreID, r.StoreRefID
	body.Delivery.State, body.Delivery.Mode = now.Status, r.DeliveryMode
	body.Delivery.Person = person{Name: now.Rider.Name, Phone: now.Rider.Phone,
		Location: history[len(history)-1].Location}
	for _, step := range history {
		body.Delivery.Updates = append(body.Delivery.Updates, statusUpdate{Status: step.Status, Created: step.At})
	}
	body.More.ExternalChannel = r.channel()
	encoded, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encoding the event: %w", err)
	}
	return encoded, nil
}
