package order

import (
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// percent returns a percentage of an amount, rounded.
func (pr *pricer) percent(of, rate decimal.Decimal) decimal.Decimal {
	return pr.round(of.Mul(rate).Shift(-2))
}

// taxes returns the taxes of the order as sent. If none were sent, it computes them by the menu and adds them to the
// items too. The tax of the order is then the sum over its items.
func (pr *pricer) taxes() []Tax {
	computed := []Tax{}
	rates := pr.pricing.Taxes
	for n := range rates {
		rate, total, applies := &rates[n], zero, false
		for i := range pr.items {
			if !rate.appliesTo(pr.items[i].ID, rates) {
				continue
			}
			applies = true
			value := pr.percent(pr.items[i].Total.Decimal, rate.Percent.Decimal)
			total = total.Add(value)
			if pr.draft.Taxes == nil {
				item := &pr.items[i]
				item.Taxes = append(item.Taxes, taxOf(rate, value))
				item.TotalWithTax.Decimal = item.TotalWithTax.Add(value)
			}
		}
		if applies {
			computed = append(computed, taxOf(rate, total))
		}
	}
	return sentOrComputed(pr, "taxes", pr.draft.Taxes, computed)
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
func (r *MenuTax) appliesTo(item int64, rates []MenuTax) bool {
	if r.Items[item] {
		return true
	}
	if !r.All {
		return false
	}
	for i := range rates {
		if rates[i].Code == r.Code && rates[i].Items[item] {
			return false
		}
	}
	return true
}

// charges returns the charges of the order as sent, or else by the menu. Computed charges on items are added to the
// items too.
func (pr *pricer) charges(subtotal decimal.Decimal) []Charge {
	computed := []Charge{}
	for n := range pr.pricing.Charges {
		c := &pr.pricing.Charges[n]
		if !c.applies(pr.draft.Kind, pr.pricing.Platform.Name) {
			continue
		}
		value, applies := zero, false
		switch c.Basis {
		case OnQuantity, OnPrice:
			value, applies = pr.chargeItems(c)
		default:
			if applies = pr.chargeApplies(c); applies && c.Basis == OnSubtotal {
				value = pr.percent(subtotal, c.Value.Decimal)
			} else if applies {
				value = pr.round(c.Value.Decimal)
			}
		}
		if applies {
			computed = append(computed, Charge{Title: c.Title, Value: &core.Amount{Decimal: value}})
		}
	}
	return sentOrComputed(pr, "charges", pr.draft.Charges, computed)
}

// chargeApplies reports whether a charge on the order applies. It applies if it never named items, if it names all of
// them, or one that was ordered.
func (pr *pricer) chargeApplies(c *MenuCharge) bool {
	applies := !c.All && !c.HasItemList
	for i := range pr.items {
		applies = applies || c.appliesTo(pr.items[i].ID, pr.pricing.Charges)
	}
	return applies
}

// appliesTo reports whether the charge names an item, or is for all items and no other charge of its key names it.
func (c *MenuCharge) appliesTo(item int64, charges []MenuCharge) bool {
	if c.Items[item] {
		return true
	}
	for i := range charges {
		if c.Key != "" && charges[i].Key == c.Key && charges[i].Items[item] {
			return false
		}
	}
	return c.All
}

func (pr *pricer) chargeItems(c *MenuCharge) (total decimal.Decimal, applies bool) {
	for i := range pr.items {
		item := &pr.items[i]
		if !c.appliesTo(item.ID, pr.pricing.Charges) {
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
		}
	}
	return total, applies
}

func taxOf(rate *MenuTax, value decimal.Decimal) Tax {
	return Tax{Title: rate.Title, Rate: &rate.Percent, Value: &core.Amount{Decimal: value}}
}
