package order

import (
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// percent returns a percentage of an amount, rounded.
func (t *pricer) percent(of, rate decimal.Decimal) decimal.Decimal {
	return t.round(of.Mul(rate).Shift(-2))
}

// taxes returns the taxes of the order as sent. If none were sent, it computes them by the menu and adds them to the
// items too. The tax of the order is then the sum over its items.
func (t *pricer) taxes() []Tax {
	computed := []Tax{}
	rates := t.pricing.Taxes
	for n := range rates {
		rate, total, met := &rates[n], zero, false
		for i := range t.items {
			if !rate.appliesTo(t.items[i].ID, rates) {
				continue
			}
			met = true
			value := t.percent(t.items[i].Total.Decimal, rate.Percent.Decimal)
			total = total.Add(value)
			if t.draft.Taxes == nil {
				item := &t.items[i]
				item.Taxes = append(item.Taxes, taxOf(rate, value))
				item.TotalWithTax.Decimal = item.TotalWithTax.Add(value)
			}
		}
		if met {
			computed = append(computed, taxOf(rate, total))
		}
	}
	return sentOrComputed(t, "taxes", t.draft.Taxes, computed)
}

// sentOrComputed returns the charges or taxes that were sent, and flags a difference from the computed sum. It returns the
// computed ones if sent is nil.
func sentOrComputed[T adjustment](t *pricer, path string, sent, computed []T) []T {
	if sent == nil {
		return computed
	}
	t.compare(path, "by the menu, the "+path+" add up to a different amount", sum(sent), sum(computed))
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
func (t *pricer) charges(subtotal decimal.Decimal) []Charge {
	computed := []Charge{}
	for n := range t.pricing.Charges {
		c := &t.pricing.Charges[n]
		if !c.applies(t.draft.Kind, t.pricing.Platform.Name) {
			continue
		}
		value, met := zero, false
		switch c.Basis {
		case OnQuantity, OnPrice:
			value, met = t.chargeItems(c)
		default:
			if met = t.chargeApplies(c); met && c.Basis == OnSubtotal {
				value = t.percent(subtotal, c.Value.Decimal)
			} else if met {
				value = t.round(c.Value.Decimal)
			}
		}
		if met {
			computed = append(computed, Charge{Title: c.Title, Value: &core.Amount{Decimal: value}})
		}
	}
	return sentOrComputed(t, "charges", t.draft.Charges, computed)
}

// chargeApplies reports whether a charge on the order applies. It applies if it never named items, if it names all of them, or
// one that was ordered.
func (t *pricer) chargeApplies(c *MenuCharge) bool {
	met := c.All || !c.HasItemList
	for i := range t.items {
		met = met || c.Items[t.items[i].ID]
	}
	return met
}

func (t *pricer) chargeItems(c *MenuCharge) (total decimal.Decimal, met bool) {
	for i := range t.items {
		item := &t.items[i]
		if !c.All && !c.Items[item.ID] {
			continue
		}
		met = true
		value := t.percent(item.Total.Decimal, c.Value.Decimal)
		if c.Basis == OnQuantity {
			value = t.round(c.Value.Mul(decimal.NewFromInt(item.Quantity)))
		}
		total = total.Add(value)
		if t.draft.Charges == nil {
			item.Charges = append(item.Charges, Charge{Title: c.Title, Value: &core.Amount{Decimal: value}})
		}
	}
	return total, met
}

func taxOf(rate *MenuTax, value decimal.Decimal) Tax {
	return Tax{Title: rate.Title, Rate: &rate.Percent, Value: &core.Amount{Decimal: value}}
}
