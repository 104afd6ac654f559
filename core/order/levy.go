package order

import (
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// percent is a share of an amount, rounded.
func (t *till) percent(of, rate decimal.Decimal) decimal.Decimal {
	return t.round(of.Mul(rate).Shift(-2))
}

// taxes are the taxes of the order as sent. Where none were sent they come from
// the menu, stand at the items too, and each is the sum of what it is there.
func (t *till) taxes() []Levy {
	computed := []Levy{}
	rates := t.setting.Taxes
	for n := range rates {
		rate, total, met := &rates[n], zero, false
		for i := range t.items {
			if !rate.fallsOn(t.items[i].ID, rates) {
				continue
			}
			met = true
			value := t.percent(t.items[i].Total.Decimal, rate.Percent.Decimal)
			total = total.Add(value)
			if t.draft.Taxes == nil {
				item := &t.items[i]
				item.Taxes = append(item.Taxes, levied(rate.Title, &rate.Percent, value))
				item.TotalWithTax.Decimal = item.TotalWithTax.Add(value)
			}
		}
		if met {
			computed = append(computed, levied(rate.Title, &rate.Percent, total))
		}
	}
	return t.sentOr("taxes", t.draft.Taxes, computed)
}

// sentOr is the charges or taxes that were sent, flagged where they come to
// another sum than the computed ones; nil is not sent.
func (t *till) sentOr(path string, sent, computed []Levy) []Levy {
	if sent == nil {
		return computed
	}
	t.compare(path, "by the menu the "+path+" come to another sum", sum(sent), sum(computed))
	return sent
}

// fallsOn tells whether an item pays the rate: of each code the one that names
// the item, else the one for all. An item that the menu does not have pays the latter.
func (r *MenuTax) fallsOn(item int64, rates []MenuTax) bool {
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

// charges are the charges of the order as sent, else as the menu has them: those
// on items stand at the items too.
func (t *till) charges(subtotal decimal.Decimal) []Levy {
	computed := []Levy{}
	for n := range t.setting.Charges {
		c := &t.setting.Charges[n]
		if !c.applies(t.draft.Kind, t.setting.Platform.Name) {
			continue
		}
		value, met := zero, false
		switch c.Basis {
		case OnQuantity, OnPrice:
			value, met = t.chargeItems(c)
		default:
			if met = t.meets(c); met && c.Basis == OnSubtotal {
				value = t.percent(subtotal, c.Value.Decimal)
			} else if met {
				value = t.round(c.Value.Decimal)
			}
		}
		if met {
			computed = append(computed, levied(c.Title, nil, value))
		}
	}
	return t.sentOr("charges", t.draft.Charges, computed)
}

// meets tells whether a charge on the order falls on this one: it names none of
// the menu's items, all of them, or one that was ordered.
func (t *till) meets(c *MenuCharge) bool {
	met := c.All || !c.Naming
	for i := range t.items {
		met = met || c.Items[t.items[i].ID]
	}
	return met
}

func (t *till) chargeItems(c *MenuCharge) (total decimal.Decimal, met bool) {
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
			item.Charges = append(item.Charges, levied(c.Title, nil, value))
		}
	}
	return total, met
}

func levied(title string, rate *core.Amount, value decimal.Decimal) Levy {
	return Levy{Title: title, Rate: rate, Value: &core.Amount{Decimal: value}}
}
