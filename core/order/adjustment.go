package order

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// percent returns a percentage of an amount, rounded.
func (pr *pricer) percent(of, rate decimal.Decimal) decimal.Decimal {
	return pr.round(of.Mul(rate).Shift(-2))
}

// maxComputed bounds the charges and taxes that are computed for the lines of an order.
const maxComputed = 20_000

// tooManyComputed returns an error once the charges and taxes of the lines exceed their bound.
func (pr *pricer) tooManyComputed() error {
	if pr.computed <= maxComputed {
		return nil
	}
	var v core.Violations
	v.AddBody("items", "limit", fmt.Sprintf("must have at most %d charges and taxes by the menu: "+
		"send charges and taxes, or fewer items", maxComputed))
	return v.Err()
}

// keyItem is an item that a charge or tax of a key names.
type keyItem struct {
	key  string
	item int64
}

// addNamed adds the ordered items that a charge or tax of a key names.
func (pr *pricer) addNamed(named map[keyItem]bool, key string, items map[int64]bool) {
	for i := range pr.items {
		if item := pr.items[i].ID; items[item] {
			named[keyItem{key, item}] = true
		}
	}
}

// taxes returns the taxes of the order as sent. If none were sent, it computes them by the menu and adds them to the
// items too. The tax of the order is then the sum over its items.
func (pr *pricer) taxes() ([]Tax, error) {
	computed := []Tax{}
	rates, named := pr.pricing.Taxes, map[keyItem]bool{}
	for n := range rates {
		pr.addNamed(named, rates[n].Code, rates[n].Items)
	}
	for n := range rates {
		rate, total, applies := &rates[n], zero, false
		for i := range pr.items {
			if !rate.appliesTo(pr.items[i].ID, named) {
				continue
			}
			applies = true
			value := pr.percent(pr.items[i].Total.Decimal, rate.Percent.Decimal)
			total = total.Add(value)
			if pr.draft.Taxes == nil {
				item := &pr.items[i]
				item.Taxes = append(item.Taxes, taxOf(rate, value))
				item.TotalWithTax.Decimal = item.TotalWithTax.Add(value)
				pr.computed++
			}
		}
		if applies {
			computed = append(computed, taxOf(rate, total))
		}
		if err := pr.tooManyComputed(); err != nil {
			return nil, err
		}
	}
	return sentOrComputed(pr, "taxes", pr.draft.Taxes, computed), nil
}

// sentOrComputed returns the charges or taxes that were sent, and flags a difference from the computed sum. It returns
// the computed ones if sent is nil.
func sentOrComputed[T adjustment](pr *pricer, path string, sent, computed []T) []T {
	if sent == nil {
		return computed
	}
	pr.compare(path, "by the menu, the "+path+" add up to a different amount", sum(sent), sum(computed))
	return sent
}

// appliesTo reports whether the rate applies to an item. Of each code, the rate that names the item applies, or else
// the rate for all items. Only the latter applies to an item that is not on the menu.
func (r *MenuTax) appliesTo(item int64, named map[keyItem]bool) bool {
	return r.Items[item] || r.All && !named[keyItem{r.Code, item}]
}

// charges returns the charges of the order as sent, or else by the menu. Computed charges on items are added to the
// items too.
func (pr *pricer) charges(subtotal decimal.Decimal) ([]Charge, error) {
	computed, named := []Charge{}, map[keyItem]bool{}
	for n := range pr.pricing.Charges {
		pr.addNamed(named, pr.pricing.Charges[n].Key, pr.pricing.Charges[n].Items)
	}
	for n := range pr.pricing.Charges {
		c := &pr.pricing.Charges[n]
		if !c.applies(pr.draft.Kind, pr.pricing.Platform.Name) {
			continue
		}
		value, applies := zero, false
		switch c.Basis {
		case OnQuantity, OnPrice:
			value, applies = pr.chargeItems(c, named)
		default:
			if applies = pr.chargeApplies(c, named); applies && c.Basis == OnSubtotal {
				value = pr.percent(subtotal, c.Value.Decimal)
			} else if applies {
				value = pr.round(c.Value.Decimal)
			}
		}
		if applies {
			computed = append(computed, Charge{Title: c.Title, Value: &core.Amount{Decimal: value}})
		}
		if err := pr.tooManyComputed(); err != nil {
			return nil, err
		}
	}
	return sentOrComputed(pr, "charges", pr.draft.Charges, computed), nil
}

// chargeApplies reports whether a charge on the order applies. It applies if it never named items, if it names all of
// them, or one that was ordered.
func (pr *pricer) chargeApplies(c *MenuCharge, named map[keyItem]bool) bool {
	applies := !c.All && !c.HasItemList
	for i := range pr.items {
		applies = applies || c.appliesTo(pr.items[i].ID, named)
	}
	return applies
}

// appliesTo reports whether the charge names an item, or is for all items and no other charge of its key names it.
func (c *MenuCharge) appliesTo(item int64, named map[keyItem]bool) bool {
	return c.Items[item] || c.All && !(c.Key != "" && named[keyItem{c.Key, item}])
}

func (pr *pricer) chargeItems(c *MenuCharge, named map[keyItem]bool) (total decimal.Decimal, applies bool) {
	for i := range pr.items {
		item := &pr.items[i]
		if !c.appliesTo(item.ID, named) {
			continue
		}
		applies = true
		value := pr.percent(item.Total.Decimal, c.Value.Decimal)
		if c.Basis == OnQuantity {
			value = pr.round(c.Value.Mul(decimal.NewFromInt(item.Quantity)))
		}
		total = total.Add(value)
		if pr.draft.Charges == nil {
			item.Charges = append(item.Charges, Charge{Title: c.Title, Value: &core.Amount{Decimal: value}})
			pr.computed++
		}
	}
	return total, applies
}

func taxOf(rate *MenuTax, value decimal.Decimal) Tax {
	return Tax{Title: rate.Title, Rate: &rate.Percent, Value: &core.Amount{Decimal: value}}
}
