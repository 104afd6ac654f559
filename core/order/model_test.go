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

// The model of the totals: fractions, no decimals, and every rule told the
// other way round, item by item.

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

// modelled are totals in cents.
type modelled struct{ subtotal, charges, taxes, discount, total int64 }

func model(d Draft, s PricingContext) (m modelled) {
	totals := make([]int64, len(d.Items))
	for i, line := range d.Items {
		price := s.Items[line.RefID].Price
		if line.Price != nil {
			price = *line.Price
		}
		each := new(big.Rat).Set(fraction(price))
		for _, o := range line.Options {
			each.Add(each, product(fraction(*o.Price), big.NewRat(int64(*o.Quantity), 1)))
		}
		totals[i] = cents(product(each, big.NewRat(int64(*line.Quantity), 1)))
		m.subtotal += totals[i]
	}
	for i, line := range d.Items {
		id, total := s.Items[line.RefID].ID, big.NewRat(totals[i], 100)
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

func drawNaming(t *rapid.T, label string) (all bool, items map[int64]bool) {
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

func drawSetting(t *rapid.T) PricingContext {
	s := cafe()
	s.Items, s.Taxes, s.Charges = map[string]*MenuItem{}, nil, nil
	for id := int64(1); id <= 3; id++ {
		s.Items[fmt.Sprint("i", id)] = &MenuItem{ID: id, Title: "I", Price: drawAmount(t, "menu price"), Stock: -1}
	}
	taken := map[string]map[int64]bool{"A": {}, "B": {}}
	for _, code := range rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B"}), 0, 4).Draw(t, "taxes") {
		all, items := drawNaming(t, "tax")
		if all && taken[code][0] {
			continue // one rate of a code is for all
		}
		taken[code][0] = taken[code][0] || all
		for id := range items { // and one names an item
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
			charge.All, charge.Items = drawNaming(t, "charge")
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
		line := Line{RefID: rapid.SampledFrom([]string{"i1", "i2", "i3"}).Draw(t, "item"), Quantity: &quantity}
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
		setting, draft := drawSetting(t), drawDraft(t)
		relay, err := Place(draft, setting, 1, noon)
		require.NoError(t, err)
		d := relay.Order.Details
		got := modelled{cents(fraction(d.Subtotal)), cents(fraction(d.TotalCharges)), cents(fraction(d.TotalTaxes)),
			cents(fraction(d.Discount)), cents(fraction(d.Total))}
		require.Equal(t, model(draft, setting), got)
		require.True(t, d.Payable.Equal(d.Total.Decimal))
		require.True(t, sum(d.Charges).Equal(d.TotalCharges.Decimal), "the charges that are told come to their total")
		require.True(t, sum(d.Taxes).Equal(d.TotalTaxes.Decimal), "the taxes that are told come to their total")
		items := zero
		for _, item := range relay.Order.Items {
			require.True(t, item.TotalWithTax.Equal(item.Total.Add(sum(item.Taxes))))
			items = items.Add(sum(item.Taxes))
		}
		require.True(t, items.Equal(d.TotalTaxes.Decimal), "those of the items too")
	})
}

func TestSentAmountsStayAndDifferencesAreFlagged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		setting, draft := drawSetting(t), drawDraft(t)
		for i := range draft.Items {
			draft.Items[i].Price, draft.Items[i].Options = nil, nil
		}
		computed, err := Place(draft, setting, 1, noon)
		require.NoError(t, err)
		d, doubts := computed.Order.Details, []string{}
		if d.Discount.GreaterThan(d.Subtotal.Add(d.TotalCharges.Decimal).Add(d.TotalTaxes.Decimal)) {
			doubts = []string{"discount"}
		}
		require.Equal(t, doubts, paths(d.Flags))

		// The channel sends what the hub works out: still nothing else to flag.
		draft.Charges, draft.Taxes = d.Charges, d.Taxes
		draft.Totals = Totals{&d.Subtotal, &d.TotalCharges, &d.TotalTaxes, &d.Discount, &d.Total, &d.Payable}
		draft.Payment = []Payment{{Option: "cash", Amount: &d.Payable}}
		for i := range draft.Items {
			draft.Items[i].Price = &computed.Order.Items[i].Price
		}
		again, err := Place(draft, setting, 1, noon)
		require.NoError(t, err)
		require.Equal(t, doubts, paths(again.Order.Details.Flags))

		// One total is another: it stays, and it and what follows from it is flagged.
		total := core.Amount{Decimal: d.Total.Add(amount("0.01").Decimal)}
		draft.Total = &total
		odd, err := Place(draft, setting, 1, noon)
		require.NoError(t, err)
		require.True(t, odd.Order.Details.Total.Equal(total.Decimal))
		require.Equal(t, append(doubts, "order_total", "payable_amount"), paths(odd.Order.Details.Flags))
		require.True(t, odd.Order.Details.Flags[len(doubts)].Computed.Equal(d.Total.Decimal))
	})
}

func paths(flags []Flag) []string {
	list := make([]string, len(flags))
	for i, flag := range flags {
		list[i] = flag.Path
	}
	return list
}

func TestExcessiveDiscountIsKeptAndFlagged(t *testing.T) {
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
			setting := cafe()
			setting.Taxes, setting.Charges = nil, nil
			relay, err := Place(draft, setting, 1, noon)
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
		till := pricer{scale: core.MinorDigits(row.currency)}
		till.compare("x", "", amount(row.sent).Decimal, amount(row.computed).Decimal)
		require.Equal(t, row.differ, len(till.flags) == 1, row)
	}
}
