package order

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// maxDifferences bounds a text of differences, in characters.
const maxDifferences = 400

// Differences returns in short what differs between a placed order and its repeat, or "". It compares
// only what was sent. It names the fields of the customer without their values.
func Differences(placed Relay, again Draft) string {
	d := differences{}
	details := &placed.Order.Details
	d.compare("store_ref_id", placed.Order.Store.RefID, string(again.StoreRefID))
	d.compare("order_type", string(details.Kind), string(again.Kind))
	d.compareItems(placed.Order.Items, again.Items)
	for _, total := range []struct {
		name         string
		before, sent *core.Amount
	}{{"order_subtotal", &details.Subtotal, again.Subtotal}, {"discount", &details.Discount, again.Discount},
		{"total_charges", &details.TotalCharges, again.Totals.Charges},
		{"total_taxes", &details.TotalTaxes, again.Totals.Taxes},
		{"order_total", &details.Total, again.Total}, {"payable_amount", &details.Payable, again.Payable}} {
		d.compareAmount(total.name, *total.before, total.sent)
	}
	if again.Charges != nil && !sameJSON(details.Charges, again.Charges) {
		d.add("charges")
	}
	if again.Taxes != nil && !sameJSON(details.Taxes, again.Taxes) {
		d.add("taxes")
	}
	if again.Payment != nil && !sameJSON(placed.Order.Payment, again.Payment) {
		d.add("payment")
	}
	if len(details.Platforms) > 0 && again.Discounts != nil &&
		!sameJSON(details.Platforms[0].Discounts, again.Discounts) {
		d.add("discounts")
	}
	d.compareCustomer(placed.Customer, again.Customer)
	if details.Instructions != again.Instructions {
		d.add("instructions")
	}
	d.compare("coupon", details.Coupon, again.Coupon)
	if !sameJSON(details.DeliverAt, optionalTime(again.DeliverAt)) {
		d.add("delivery_datetime")
	}
	if !sameJSON(details.PrepareFor, optionalTime(again.PrepareFor)) {
		d.add("prepare_for")
	}
	d.compare("display_id", details.DisplayID, string(again.DisplayID))
	if !sameJSON(details.Cutlery, again.Cutlery) {
		d.add("cutlery")
	}
	return sanitize(strings.Join(d, "; "), maxDifferences)
}

// differences lists what differs.
type differences []string

func (d *differences) add(text string) { *d = append(*d, text) }

func (d *differences) compare(name, before, after string) {
	if before != after {
		d.add(fmt.Sprintf("%s: %s, in the repeat %s", name, orNone(before), orNone(after)))
	}
}

func (d *differences) compareAmount(name string, before core.Amount, sent *core.Amount) {
	if sent != nil && !sent.Equal(before.Decimal) {
		d.compare(name, before.String(), sent.String())
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// compareItems compares lines in the order in which they were sent. A line without its counterpart was added or
// removed.
func (d *differences) compareItems(placed []Item, again []Line) {
	left := slices.Clone(placed)
	for i := range again {
		line := &again[i]
		at := slices.IndexFunc(left,
			func(item Item) bool { return item.RefID == string(line.RefID) && sameOptions(item, line) })
		if at < 0 {
			at = slices.IndexFunc(left, func(item Item) bool { return item.RefID == string(line.RefID) })
		}
		if at < 0 {
			d.add(fmt.Sprintf("item %s added", line.RefID))
			continue
		}
		item := left[at]
		left = slices.Delete(left, at, at+1)
		if item.Quantity != int64(*line.Quantity) {
			d.add(fmt.Sprintf("item %s: quantity %d, in the repeat %d", line.RefID, item.Quantity, *line.Quantity))
		}
		d.compareAmount("item "+string(line.RefID)+": price", item.Price, line.Price)
		if !sameOptions(item, line) {
			d.add(fmt.Sprintf("item %s: options", line.RefID))
		}
		if item.Instructions != line.Instructions {
			d.add(fmt.Sprintf("item %s: instructions", line.RefID))
		}
	}
	for _, item := range left {
		d.add(fmt.Sprintf("item %s removed", item.RefID))
	}
}

// sameOptions reports whether a line has the options of an item, in the same order.
func sameOptions(item Item, line *Line) bool {
	return slices.EqualFunc(item.Options, line.Options, func(option Option, choice Choice) bool {
		quantity := int64(1)
		if choice.Quantity != nil {
			quantity = int64(*choice.Quantity)
		}
		return option.RefID == string(choice.RefID) && option.Quantity == quantity &&
			(choice.Price == nil || choice.Price.Equal(option.Price.Decimal))
	})
}

func (d *differences) compareCustomer(before, after Customer) {
	if before.Name != after.Name {
		d.add("customer.name")
	}
	if before.Email != after.Email {
		d.add("customer.email")
	}
	if before.Phone != after.Phone {
		d.add("customer.phone")
	}
	if after.Address == nil {
		after.Address = &Address{}
	}
	if !sameJSON(before.Address, after.Address) {
		d.add("customer.address")
	}
}

// sameJSON reports whether two values have the same JSON.
func sameJSON(a, b any) bool {
	first, err := json.Marshal(a, json.Deterministic(true))
	second, otherErr := json.Marshal(b, json.Deterministic(true))
	return err == nil && otherErr == nil && bytes.Equal(first, second)
}
