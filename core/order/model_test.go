package order

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// The model computes totals a second time, with fractions instead of decimals and item by item.

func fraction(a core.Amount) *big.Rat { return a.Rat() }

// cents rounds half up to hundredths, as a whole number of them.
func cents(r *big.Rat) int64 {
	doubled := new(big.Rat).Add(new(big.Rat).Mul(r, big.NewRat(200, 1)), big.NewRat(1, 1))
	quotient := new(big.Int).Div(doubled.Num(), new(big.Int).Mul(doubled.Denom(), big.NewInt(2)))
	return quotient.Int64()
}

func product(factors ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, f := range factors {
		p.Mul(p, f)
	}
	return p
}

// totals are the totals of an order, in cents.
type totals struct{ subtotal, charges, taxes, discount, total int64 }

func model(d Draft, s PricingContext) (m totals) {
	lines := make([]int64, len(d.Items))
	for i, line := range d.Items {
		price := s.Items[string(line.RefID)].Price
		if line.Price != nil {
			price = *line.Price
		}
		each := new(big.Rat).Set(fraction(price))
		for _, o := range line.Options {
			each.Add(each, product(fraction(*o.Price), big.NewRat(int64(*o.Quantity), 1)))
		}
		lines[i] = cents(product(each, big.NewRat(int64(*line.Quantity), 1)))
		m.subtotal += lines[i]
	}
	for i, line := range d.Items {
		id, total := s.Items[string(line.RefID)].ID, big.NewRat(lines[i], 100)
		for _, code := range []string{"A", "B"} {
			var pays *MenuTax
			for t := range s.Taxes {
				if tax := &s.Taxes[t]; tax.Code == code && (tax.Items[id] || tax.All && pays == nil) {
					pays = tax
				}
			}
			if pays != nil {
				m.taxes += cents(product(total, fraction(pays.Percent), big.NewRat(1, 100)))
			}
		}
		for _, c := range s.Charges {
			if !c.All && !c.Items[id] {
				continue
			}
			switch c.Basis {
			case OnQuantity:
				m.charges += cents(product(fraction(c.Value), big.NewRat(int64(*line.Quantity), 1)))
			case OnPrice:
				m.charges += cents(product(total, fraction(c.Value), big.NewRat(1, 100)))
			}
		}
	}
	for _, c := range s.Charges {
		switch {
		case c.HasItemList && !c.All:
		case c.Basis == OnSubtotal:
			m.charges += cents(product(big.NewRat(m.subtotal, 100), fraction(c.Value), big.NewRat(1, 100)))
		case c.Basis == OnOrder:
			m.charges += cents(fraction(c.Value))
		}
	}
	discounts := new(big.Rat)
	for _, discount := range d.Discounts {
		discounts.Add(discounts, fraction(*discount.Value))
	}
	m.discount = cents(discounts)
	m.total = m.subtotal - m.discount + m.charges + m.taxes
	return m
}

func drawAmount(t *rapid.T, label string) core.Amount {
	return amount(fmt.Sprintf("%d.%0*d", rapid.IntRange(0, 500).Draw(t, label),
		rapid.IntRange(1, 4).Draw(t, label+" scale"), rapid.IntRange(0, 9).Draw(t, label+" digit")))
}

func drawItems(t *rapid.T, label string) (all bool, items map[int64]bool) {
	items = map[int64]bool{}
	if all = rapid.Bool().Draw(t, label+" all"); !all {
		for id := int64(1); id <= 3; id++ {
			if rapid.Bool().Draw(t, label+" item") {
				items[id] = true
			}
		}
	}
	return all, items
}

func drawPricing(t *rapid.T) PricingContext {
	s := cafe()
	s.Items, s.Taxes, s.Charges = map[string]*MenuItem{}, nil, nil
	for id := int64(1); id <= 3; id++ {
		s.Items[fmt.Sprint("i", id)] = &MenuItem{ID: id, Title: "I", Price: drawAmount(t, "menu price"), Stock: -1}
	}
	taken := map[string]map[int64]bool{"A": {}, "B": {}}
	for _, code := range rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B"}), 0, 4).Draw(t, "taxes") {
		all, items := drawItems(t, "tax")
		if all && taken[code][0] {
			continue // only one rate of a code applies to all items
		}
		taken[code][0] = taken[code][0] || all
		for id := range items { // and only one names an item
			if taken[code][id] {
				delete(items, id)
			}
			taken[code][id] = true
		}
		s.Taxes = append(s.Taxes,
			MenuTax{Code: code, Title: "T", Percent: drawAmount(t, "rate"), All: all, Items: items})
	}
	for _, basis := range rapid.SliceOfN(rapid.SampledFrom([]Basis{OnOrder, OnSubtotal, OnQuantity, OnPrice}), 0,
		4).Draw(t, "charges") {
		charge := MenuCharge{Title: "C", Basis: basis, Value: drawAmount(t, "charge")}
		if basis == OnQuantity || basis == OnPrice {
			charge.All, charge.Items = drawItems(t, "charge")
			charge.HasItemList = len(charge.Items) > 0
		}
		s.Charges = append(s.Charges, charge)
	}
	return s
}

func drawDraft(t *rapid.T) Draft {
	d := Draft{Platform: "p", PlatformOrderID: "1", StoreRefID: "s", Kind: ForDelivery}
	for range rapid.IntRange(1, 4).Draw(t, "lines") {
		quantity := core.Integer(rapid.Int64Range(1, 7).Draw(t, "quantity"))
		line := Line{RefID: rapid.SampledFrom([]core.Identifier{"i1", "i2", "i3"}).Draw(t, "item"), Quantity: &quantity}
		if rapid.Bool().Draw(t, "priced") {
			price := drawAmount(t, "price")
			line.Price = &price
		}
		for range rapid.IntRange(0, 2).Draw(t, "options") {
			price, count := drawAmount(t, "option price"),
				core.Integer(rapid.Int64Range(1, 3).Draw(t, "option quantity"))
			line.Options = append(line.Options, Choice{RefID: "o", Price: &price, Quantity: &count})
		}
		d.Items = append(d.Items, line)
	}
	for range rapid.IntRange(0, 2).Draw(t, "discounts") {
		value := drawAmount(t, "discount")
		d.Discounts = append(d.Discounts, Discount{Value: &value})
	}
	return d
}

func TestTotalsMatchTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pricing, draft := drawPricing(t), drawDraft(t)
		relay, err := Place(draft, pricing, 1, noon)
		require.NoError(t, err)
		d := relay.Order.Details
		got := totals{cents(fraction(d.Subtotal)), cents(fraction(d.TotalCharges)), cents(fraction(d.TotalTaxes)),
			cents(fraction(d.Discount)), cents(fraction(d.Total))}
		require.Equal(t, model(draft, pricing), got)
		require.True(t, d.Payable.Equal(d.Total.Decimal))
		require.True(t, sum(d.Charges).Equal(d.TotalCharges.Decimal), "the charges add up to their total")
		require.True(t, sum(d.Taxes).Equal(d.TotalTaxes.Decimal), "the taxes add up to their total")
		items := zero
		for _, item := range relay.Order.Items {
			require.True(t, item.TotalWithTax.Equal(item.Total.Add(sum(item.Taxes))))
			items = items.Add(sum(item.Taxes))
		}
		require.True(t, items.Equal(d.TotalTaxes.Decimal), "the taxes of the items add up too")
	})
}

func TestSentAmountsStayAndDifferencesAreFlagged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pricing, draft := drawPricing(t), drawDraft(t)
		for i := range draft.Items {
			draft.Items[i].Price, draft.Items[i].Options = nil, nil
		}
		computed, err := Place(draft, pricing, 1, noon)
		require.NoError(t, err)
		d, flagged := computed.Order.Details, []string{}
		if d.Discount.GreaterThan(d.Subtotal.Add(d.TotalCharges.Decimal).Add(d.TotalTaxes.Decimal)) {
			flagged = []string{"discount"}
		}
		require.Equal(t, flagged, paths(d.Flags))

		// If the channel sends the amounts that the hub computes, there are no further flags.
		draft.Charges, draft.Taxes = d.Charges, d.Taxes
		draft.Totals = Totals{&d.Subtotal, &d.TotalCharges, &d.TotalTaxes, &d.Discount, &d.Total, &d.Payable}
		draft.Payment = []Payment{{Option: "cash", Amount: &d.Payable}}
		for i := range draft.Items {
			draft.Items[i].Price = &computed.Order.Items[i].Price
		}
		again, err := Place(draft, pricing, 1, noon)
		require.NoError(t, err)
		require.Equal(t, flagged, paths(again.Order.Details.Flags))

		// If it sends another total, the hub accepts that and flags it and the totals that depend on it.
		total := core.Amount{Decimal: d.Total.Add(amount("0.01").Decimal)}
		draft.Total = &total
		different, err := Place(draft, pricing, 1, noon)
		require.NoError(t, err)
		require.True(t, different.Order.Details.Total.Equal(total.Decimal))
		require.Equal(t, append(flagged, "order_total", "payable_amount"), paths(different.Order.Details.Flags))
		require.True(t, different.Order.Details.Flags[len(flagged)].Computed.Equal(d.Total.Decimal))
	})
}

func paths(flags []Flag) []string {
	list := make([]string, len(flags))
	for i, flag := range flags {
		list[i] = flag.Path
	}
	return list
}

func TestExcessiveDiscountIsAcceptedAndFlagged(t *testing.T) {
	for name, row := range map[string]struct {
		body    string
		flags   []string
		payable string
	}{
		"discounts": {`"discounts":[{"value":600},{"value":400}]`, []string{"discount"}, "-980.5"},
		"a total":   {`"discount":30`, []string{"discount", "discount"}, "-10.5"},
		"all of it": {`"discounts":[{"value":19.5}]`, []string{}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			draft, err :=
				Decode([]byte(`{"platform":"p","platform_order_id":"1","store_ref_id":"s",` +
					`"items":[{"ref_id":"nowhere","price":19.5,"quantity":1}],` + row.body + `}`))
			require.NoError(t, err)
			pricing := cafe()
			pricing.Taxes, pricing.Charges = nil, nil
			relay, err := Place(draft, pricing, 1, noon)
			require.NoError(t, err)
			flags := slices.DeleteFunc(relay.Order.Details.Flags, func(f Flag) bool { return f.Code == NotOnMenu })
			require.Equal(t, row.flags, paths(flags))
			require.Equal(t, row.payable, relay.Order.Details.Payable.String())
			for _, f := range flags {
				if f.Code == Exceeds {
					require.True(t, f.Sent.GreaterThan(f.Computed.Decimal))
				}
			}
		})
	}
}

func TestAmountsDifferByTheSmallestUnitOrMore(t *testing.T) {
	for _, row := range []struct {
		currency, sent, computed string
		differ                   bool
	}{
		{"USD", "10.004", "10.006", false}, {"USD", "10.006", "10.004", false}, {"USD", "10.001", "10.0109", false},
		{"USD", "10.001", "10.011", true},
		{"USD", "10.00", "10.01", true}, {"USD", "10.01", "10", true}, {"JPY", "100", "100.99", false},
		{"JPY", "100", "101", true}, {"KWD", "1.001", "1.0019", false}, {"KWD", "1.001", "1.002", true},
	} {
		pr := pricer{scale: core.MinorDigits(row.currency)}
		pr.compare("x", "", amount(row.sent).Decimal, amount(row.computed).Decimal)
		require.Equal(t, row.differ, len(pr.flags) == 1, row)
	}
}
