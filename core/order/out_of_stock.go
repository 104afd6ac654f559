package order

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// OutOfStockReport is a report that items of an order are out of stock.
type OutOfStockReport struct {
	OrderID   int64  // 0: the latest order with the Reference
	Reference string // the POS's name for the order
	AllowEdit bool   // the platform may let the customer change the order
	Items     []OutOfStockItem
	Actor     string // who reports it, such as key:pos

	positions []int // of the items in the request, for errors; nil: no null was between them
}

// OutOfStockItem is an item or option that is out of stock.
type OutOfStockItem struct {
	ID    int64  `json:"upipr_id,omitzero"` // the hub's id; 0 if the menu has none
	RefID string `json:"ref_id"`
}

// DecodeOutOfStockReport decodes the body of a report. Any violation rejects it with an Invalid error that names the
// item and the field.
func DecodeOutOfStockReport(body []byte) (OutOfStockReport, error) {
	var sent struct {
		OrderID   core.PositiveInt `json:"order_upipr_id"`
		Reference core.Identifier  `json:"order_ref_id"`
		AllowEdit bool             `json:"allow_edit"`
		Items     []jsontext.Value `json:"items_oos"`
	}
	if err := core.DecodeJSON(body, &sent); err != nil {
		return OutOfStockReport{}, err
	}
	var positions []int
	if isNull := func(item jsontext.Value) bool { return item.Kind() == 'n' }; slices.ContainsFunc(sent.Items, isNull) {
		for i, item := range sent.Items {
			if !isNull(item) {
				positions = append(positions, i)
			}
		}
		sent.Items = slices.DeleteFunc(sent.Items, isNull)
	}
	var v core.Violations
	request := fieldPath{v: &v}
	if sent.OrderID == 0 && sent.Reference == "" {
		request.fail("order_upipr_id", "required", "or order_ref_id is required")
	}
	request.text("order_ref_id", string(sent.Reference), maxName)
	switch {
	case len(sent.Items) == 0:
		request.fail("items_oos", "required", "must have at least one item")
	case len(sent.Items) > MaxItems:
		request.fail("items_oos", "limit",
			fmt.Sprintf("must have at most %d items, not %d", MaxItems, len(sent.Items)))
		return OutOfStockReport{}, v.Err()
	}
	items := make([]struct {
		ID    core.PositiveInt `json:"upipr_id"`
		RefID core.Identifier  `json:"ref_id"`
	}, len(sent.Items))
	failures := core.DecodeObjects(sent.Items, func(i int) any { return &items[i] })
	s := OutOfStockReport{OrderID: int64(sent.OrderID), Reference: string(sent.Reference), AllowEdit: sent.AllowEdit,
		Items: make([]OutOfStockItem, len(items)), positions: positions}
	for i, item := range items {
		at := core.Object{Array: "items_oos", Index: s.position(i), RefID: string(item.RefID)}
		if failures[i] != nil {
			v.AddFailure(at, sent.Items[i], failures[i])
			continue
		}
		if item.ID == 0 && item.RefID == "" {
			v.Add(at, "ref_id", "required", "is required")
		}
		s.Items[i] = OutOfStockItem{int64(item.ID), string(item.RefID)}
	}
	return s, v.Err()
}

// position returns the index in the request of an item.
func (s *OutOfStockReport) position(i int) int {
	if s.positions == nil {
		return i
	}
	return s.positions[i]
}

// Resolve finds the reported items and options in the order and completes their ids. It returns Invalid if the order
// does not contain one of them, and Conflict if the order has ended.
func (s *OutOfStockReport) Resolve(relay Relay, state State) error {
	if len(state.Next()) == 0 {
		return core.Errorf(core.Conflict, "the order is %s, so its items can no longer be out of stock", state)
	}
	var ordered []OutOfStockItem
	for _, item := range relay.Order.Items {
		ordered = append(ordered, OutOfStockItem{item.ID, item.RefID})
		for _, option := range item.Options {
			ordered = append(ordered, OutOfStockItem{option.ID, option.RefID})
		}
	}
	var v core.Violations
	for i := range s.Items {
		if !s.Items[i].findIn(ordered) {
			at, field, rule := core.Object{Array: "items_oos", Index: s.position(i), RefID: s.Items[i].RefID}, "",
				"the order has no such item"
			if at.RefID == "" {
				field, rule = "upipr_id", fmt.Sprintf("%d: %s", s.Items[i].ID, rule)
			}
			v.Add(at, field, "value", rule)
		}
	}
	return v.Err()
}

// SameContent reports whether another report has the same content: the items out of stock, and whether the customer may
// change the order.
func (s *OutOfStockReport) SameContent(items []OutOfStockItem, allowEdit bool) bool {
	containsAll := func(all, some []OutOfStockItem) bool {
		return !slices.ContainsFunc(some, func(i OutOfStockItem) bool { return !slices.Contains(all, i) })
	}
	return allowEdit == s.AllowEdit && containsAll(items, s.Items) && containsAll(s.Items, items)
}

// RefIDs returns the distinct ref_ids of the reported items and options. Resolve must have been called before.
func (s *OutOfStockReport) RefIDs(relay Relay) (items, options []string) {
	for _, item := range s.Items {
		list := &options
		if slices.ContainsFunc(relay.Order.Items, func(i Item) bool {
			return i.RefID == item.RefID && (item.ID == 0 || i.ID == item.ID) // an option may have the same ref_id
		}) {
			list = &items
		}
		if !slices.Contains(*list, item.RefID) {
			*list = append(*list, item.RefID)
		}
	}
	return items, options
}

// findIn completes an item from a list that contains it, by its ref_id or else by its id. It returns false if the list
// does not contain it.
func (i *OutOfStockItem) findIn(list []OutOfStockItem) bool {
	for _, found := range list {
		if i.RefID == found.RefID || i.RefID == "" && i.ID == found.ID {
			*i = found
			return true
		}
	}
	return false
}

// APIOutOfStockReport is a report in the API, listed with its order.
type APIOutOfStockReport struct {
	Reference core.ID          `json:"reference_id"`
	At        int64            `json:"at"` // epoch milliseconds
	Items     []OutOfStockItem `json:"items_oos"`
	AllowEdit bool             `json:"allow_edit"`
	Actor     string           `json:"actor"`
	State     string           `json:"state"` // waiting, done, failed or skipped
	Message   string           `json:"message,omitzero"`
}

// OutOfStockOutcome is a platform's response to a report.
type OutOfStockOutcome struct {
	Subject
	Reference core.ID // of the report
	OrderRef  string  // the POS's name for the order
	StoreID   int64
	StoreName string
	Success   bool
	Message   string
	Phone     string // reaches the customer without revealing their own number
	Pin       string // the code to enter after dialling
}

// ReadByChannel is the outcome for the merchant's own channels, which read reports with the order: no platform is
// notified.
const ReadByChannel = "the channel receives the report with the order"

// Event returns the body of an order_items_oos_processed event.
func (o OutOfStockOutcome) Event() ([]byte, error) {
	type store struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	type data struct {
		Message string `json:"message"`
		Phone   string `json:"customer_masked_number"`
		Pin     string `json:"pin"`
	}
	return json.Marshal(struct {
		Success         bool    `json:"success"`
		Reference       core.ID `json:"reference_id"`
		Platform        string  `json:"platform"`
		OrderID         int64   `json:"upipr_order_id"`
		OrderRef        string  `json:"ref_order_id"`
		PlatformOrderID string  `json:"platform_order_id"`
		Store           store   `json:"store"`
		Data            data    `json:"data"`
	}{
		o.Success, o.Reference, o.channel().Name, o.OrderID, o.OrderRef, o.PlatformOrderID,
		store{o.StoreID, o.StoreName}, data{o.Message, o.Phone, o.Pin},
	})
}
