package order

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestChargeNamingAnItemPrecedesOneForAll(t *testing.T) {
	charges := []MenuCharge{{Key: "a", All: true}, {Key: "a", Items: map[int64]bool{1: true}}, {Key: "b", All: true},
		{All: true}, {Items: map[int64]bool{1: true}}}
	named, pr := map[keyItem]bool{}, pricer{items: []Item{{ID: 1}, {ID: 2}}}
	for i := range charges {
		pr.addNamed(named, charges[i].Key, charges[i].Items)
	}
	for item, want := range map[int64][]bool{1: {false, true, true, true, true}, 2: {true, false, true, true, false}} {
		var applies []bool
		for i := range charges {
			applies = append(applies, charges[i].appliesTo(item, named))
		}
		require.Equal(t, want, applies, "item %d", item)
	}
}

func TestComputedChargesAndTaxesAreBounded(t *testing.T) {
	pricing, draft := cafe(), Draft{Kind: ForDelivery}
	pricing.Charges, pricing.Taxes = nil, nil
	for i := range maxComputed/MaxItems + 1 {
		pricing.Charges = append(pricing.Charges, MenuCharge{Key: strconv.Itoa(i), Basis: OnQuantity, All: true})
		pricing.Taxes = append(pricing.Taxes, MenuTax{Code: strconv.Itoa(i), All: true})
	}
	for range MaxItems {
		draft.Items = append(draft.Items, Line{RefID: "latte", Quantity: new(core.Integer(1))})
	}
	place := func() error {
		_, err := Place(draft, pricing, 1, time.Now())
		return err
	}
	const refused = "items must have at most 20000 charges and taxes by the menu"
	require.ErrorContains(t, place(), refused)
	draft.Charges = []Charge{}
	require.ErrorContains(t, place(), refused, "taxes are computed")
	draft.Taxes = []Tax{}
	require.NoError(t, place())
	draft.Charges, draft.Taxes, draft.Items = nil, nil, draft.Items[1:]
	require.Equal(t, core.Invalid, core.CodeOf(place()))
	pricing.Taxes, pricing.Charges = nil, pricing.Charges[1:]
	require.NoError(t, place())
}
