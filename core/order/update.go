package order

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Update is an order after a change at its platform.
type Update struct {
	ChangeID string         `json:"change_id"` // of the change; a repeat has the same
	Reason   string         `json:"reason"`    // for people
	Order    jsontext.Value `json:"order"`     // the whole order, as Decode reads it
}

// check checks an update like a new order. It truncates a reason that is too long.
func (u *Update) check(p fieldPath) error {
	p.required("change_id", u.ChangeID, maxName)
	u.Reason = sanitize(u.Reason, maxText)
	_, err := Decode(u.Order)
	return err
}

// Original is the part of an order that no update changes.
type Original struct {
	Subject
	State   State
	Kind    Kind
	Mode    DeliveryMode
	Bulk    bool
	Created time.Time
}

// CheckUpdate returns a Conflict for an order that has ended.
func (o Original) CheckUpdate() error {
	if len(o.State.Next()) == 0 {
		return core.Errorf(core.Conflict, "the order is %s, so it can no longer change", o.State)
	}
	return nil
}

// Draft returns the changed order. It keeps what no update changes.
func (u Update) Draft(placed Original) (Draft, error) {
	draft, err := Decode(u.Order)
	draft.Platform, draft.PlatformOrderID = placed.Platform, core.Identifier(placed.PlatformOrderID)
	draft.StoreRefID = core.Identifier(placed.StoreRefID)
	draft.Kind, draft.DeliveryMode, draft.Bulk = placed.Kind, placed.Mode, placed.Bulk
	return draft, err
}

// UpdateSummary says what an update changed.
type UpdateSummary struct {
	ChangeID string         `json:"change_id"`
	Reason   string         `json:"reason"`
	Items    []ItemChange   `json:"items"`
	Amounts  []AmountChange `json:"amounts"`
}

// The changes of a line.
const (
	LineAdded    = "added"
	LineRemoved  = "removed"
	LineQuantity = "quantity"
	LineDetails  = "details" // its price, options, title or instructions
)

// ItemChange is the change of a line. A removed line has the quantity 0, and an added one had it.
type ItemChange struct {
	Change   string `json:"change"`
	RefID    string `json:"merchant_id"`
	Title    string `json:"title"`
	LineID   string `json:"line_id,omitzero"`
	Previous int64  `json:"prev_quantity"`
	Quantity int64  `json:"quantity"`
}

// AmountChange is the change of a total.
type AmountChange struct {
	Name     string      `json:"name"`
	Previous core.Amount `json:"prev_value"`
	Value    core.Amount `json:"value"`
}

// Summarise returns what differs between two contents of an order.
func (u Update) Summarise(before, after Relay) UpdateSummary {
	summary := UpdateSummary{ChangeID: u.ChangeID, Reason: u.Reason,
		Items: itemChanges(before.Order.Items, after.Order.Items), Amounts: []AmountChange{}}
	old, now := &before.Order.Details, &after.Order.Details
	for _, total := range []struct {
		name          string
		before, after core.Amount
	}{{"order_subtotal", old.Subtotal, now.Subtotal}, {"discount", old.Discount, now.Discount},
		{"total_charges", old.TotalCharges, now.TotalCharges}, {"total_taxes", old.TotalTaxes, now.TotalTaxes},
		{"order_total", old.Total, now.Total}, {"payable_amount", old.Payable, now.Payable}} {
		if !total.before.Equal(total.after.Decimal) {
			summary.Amounts = append(summary.Amounts, AmountChange{total.name, total.before, total.after})
		}
	}
	return summary
}

func itemChanges(before, after []Item) []ItemChange {
	changes, left := []ItemChange{}, slices.Clone(before)
	for _, item := range after {
		at := counterpart(left, item)
		if at < 0 {
			changes = append(changes, ItemChange{LineAdded, item.RefID, item.Title, item.LineID, 0, item.Quantity})
			continue
		}
		old := left[at]
		left = slices.Delete(left, at, at+1)
		change := ItemChange{LineQuantity, item.RefID, item.Title, item.LineID, old.Quantity, item.Quantity}
		switch {
		case old.Quantity != item.Quantity:
			changes = append(changes, change)
		case !sameLine(old, item):
			change.Change = LineDetails
			changes = append(changes, change)
		}
	}
	for _, old := range left {
		changes = append(changes, ItemChange{LineRemoved, old.RefID, old.Title, old.LineID, old.Quantity, 0})
	}
	return changes
}

// counterpart returns the index of the line that an item was before, or -1. The platform's id decides, if both have
// one. A line with the same options comes before others of the item.
func counterpart(left []Item, item Item) int {
	matches := []func(Item) bool{
		func(old Item) bool { return item.LineID != "" && old.LineID == item.LineID },
		func(old Item) bool { return old.RefID == item.RefID && sameJSON(old.Options, item.Options) },
		func(old Item) bool { return old.RefID == item.RefID },
	}
	for i, match := range matches {
		at := slices.IndexFunc(left, func(old Item) bool {
			return match(old) && (i == 0 || old.LineID == "" || item.LineID == "")
		})
		if at >= 0 {
			return at
		}
	}
	return -1
}

func sameLine(a, b Item) bool {
	return a.RefID == b.RefID && a.Title == b.Title && a.Instructions == b.Instructions &&
		a.Price.Equal(b.Price.Decimal) && sameJSON(a.Options, b.Options)
}

// Updated returns the body of an order_updated event: the whole order in its present state, with what changed.
func Updated(after Relay, state State, summary UpdateSummary) ([]byte, error) {
	after.setState(state)
	return json.Marshal(struct {
		Relay
		Update UpdateSummary `json:"update"`
	}{after, summary})
}
