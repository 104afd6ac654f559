package order

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// RiderStep is one status of a rider's history.
type RiderStep struct {
	Status RiderStatus `json:"status"`
	At     int64       `json:"at"` // epoch milliseconds
	Rider
	Actor string      `json:"actor"`
	Relay *RiderRelay `json:"relay,omitzero"` // nil where there is nobody to relay it to
}

// RiderRelay is what became of telling the platform.
type RiderRelay struct {
	State   string `json:"state"` // waiting, done, failed or skipped
	Message string `json:"message,omitzero"`
}

// Rides are the statuses of an order's rider, the oldest first.
type Rides []RiderStep

// Delivery is how the delivery stands after them.
func (r Rides) Delivery() Delivery {
	if len(r) == 0 {
		return Delivery{}
	}
	last := r[len(r)-1]
	return Delivery{last.Status, last.Rider}
}

// RiderReading is the rider of an order as read back.
type RiderReading struct {
	Status RiderStatus `json:"status"`
	Rider
	History Rides `json:"history"`
}

// reading is nil before the first status.
func (r Rides) reading() *RiderReading {
	if len(r) == 0 {
		return nil
	}
	now := r.Delivery()
	return &RiderReading{now.Status, now.Rider, r}
}

// Ride is what the hub must know of an order to take statuses of its rider.
type Ride struct {
	Subject
	State   State // of the order
	StoreID int64
	Carrier Carrier
	Rides   Rides
}

// CheckRidden is Invalid where others than the merchant deliver the order, or, as
// carrier "" says, nobody does.
func CheckRidden(carrier Carrier) error {
	switch carrier {
	case BySelf:
		return nil
	case "":
		return refusal("order_id", "order_type", "names an order that nobody brings: it is not for delivery")
	default:
		return refusal("order_id", "delivery_type", "names an order that is not self-delivery: the platform's riders bring it")
	}
}

// Followed tells whether anybody may be told where the rider of an order is: from
// its end, or once it is delivered, that is the rider's own business.
func Followed(state State, last RiderStatus) bool {
	return len(state.Next()) > 0 && last != Delivered
}

// maxRides bounds the statuses of one order: each event tells them all.
const maxRides = 500

// Take adds a status, if it changes anything, and makes the body of the
// rider_status_update that tells it (contract, Orders and channels). Nobody is
// assigned to a cancelled order: that is a Conflict. Errors else as of Delivery.Move.
func (r *Ride) Take(update RiderUpdate, at int64) (changed bool, event []byte, err error) {
	if err := CheckRidden(r.Carrier); err != nil {
		return false, nil, err
	}
	next, changed, err := r.Rides.Delivery().Move(update.Status, update.Rider)
	if err != nil || !changed {
		return false, nil, err
	}
	if update.Status == Assigned && r.State == Cancelled {
		return false, nil, core.Errorf(core.Conflict, "the order is %s; nobody is assigned to it any more", r.State)
	}
	if len(r.Rides) >= maxRides {
		return false, nil, core.Errorf(core.Conflict, "the order has had %d statuses of its rider; it takes no more", maxRides)
	}
	rides := append(slices.Clip(r.Rides), RiderStep{Status: next.Status, At: at, Rider: next.Rider, Actor: update.Actor})
	if event, err = riderStatusUpdate(*r, rides); err != nil {
		return false, nil, err
	}
	r.Rides = rides
	return true, event, nil
}

func riderStatusUpdate(r Ride, rides Rides) ([]byte, error) {
	type statusUpdate struct {
		Status   RiderStatus `json:"status"`
		Created  int64       `json:"created"`
		Comments string      `json:"comments"`
	}
	var body struct {
		OrderID int64 `json:"order_id"`
		Store   struct {
			ID    int64  `json:"id"`
			RefID string `json:"ref_id"`
		} `json:"store"`
		Delivery struct {
			State   RiderStatus    `json:"current_state"`
			Mode    Carrier        `json:"mode"`
			Person  Rider          `json:"delivery_person_details"`
			Updates []statusUpdate `json:"status_updates"`
		} `json:"delivery_info"`
		More struct {
			ExternalChannel externalChannel `json:"external_channel"`
		} `json:"additional_info"`
	}
	now := rides.Delivery()
	body.OrderID, body.Store.ID, body.Store.RefID = r.OrderID, r.StoreID, r.StoreRefID
	body.Delivery.State, body.Delivery.Mode, body.Delivery.Person = now.Status, r.Carrier, now.Rider
	for _, step := range rides {
		body.Delivery.Updates = append(body.Delivery.Updates, statusUpdate{Status: step.Status, Created: step.At})
	}
	body.More.ExternalChannel = externalChannel{r.Platform, r.PlatformOrderID}
	encoded, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("writing the event: %w", err)
	}
	return encoded, nil
}
