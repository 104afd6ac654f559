package order

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// pricer prices one order.
type pricer struct {
	draft      *Draft
	pricing    *PricingContext
	scale      int32 // decimal places of the currency
	flags      []Flag
	items      []Item
	quantities map[string]int64 // quantity of each item, over all lines
}

// Place prices an order. It accepts the values that the channel sent and takes missing ones from the store's menu. It
// flags differences between the two, and other inconsistencies. It returns an Invalid error if a price was not sent
// and the menu has none.
func Place(draft Draft, setting PricingContext, id int64, at time.Time) (Relay, error) {
	t := pricer{draft: &draft, pricing: &setting, scale: core.MinorDigits(setting.Currency), quantities: map[string]int64{}}
	t.flagStore(at)
	if err := t.priceLines(); err != nil {
		return Relay{}, err
	}
	subtotal := zero
	for i := range t.items {
		subtotal = subtotal.Add(t.items[i].Total.Decimal)
	}
	subtotal = t.reconcile("order_subtotal", draft.Subtotal, subtotal)
	t.flagMinimum(subtotal)
	charges := t.charges(subtotal)
	taxes := t.taxes()
	details := Details{
		ID: id, Business: setting.Business, BusinessName: setting.Name, Channel: setting.Platform.EventName(),
		Kind: draft.Kind, Created: at.UnixMilli(),
		DeliverAt: (*int64)(draft.DeliverAt), Instructions: draft.Instructions, Coupon: draft.Coupon, Bulk: draft.Bulk,
		Charges: charges, Taxes: taxes, Platforms: []RelayPlatform{t.platform()},
		Subtotal:     core.Amount{Decimal: subtotal},
		TotalCharges: core.Amount{Decimal: t.reconcile("total_charges", draft.Totals.Charges, sum(charges))},
		TotalTaxes:   core.Amount{Decimal: t.reconcile("total_taxes", draft.Totals.Taxes, sum(taxes))},
	}
	t.splitTotals(&details)
	discount := zero
	for _, d := range draft.Discounts {
		discount = discount.Add(d.Value.Decimal)
	}
	details.Discount.Decimal = t.reconcile("discount", draft.Discount, discount)
	t.flagDiscount(details.Discount, subtotal.Add(details.TotalCharges.Decimal).Add(details.TotalTaxes.Decimal))
	details.Total.Decimal = t.reconcile("order_total", draft.Total,
		subtotal.Sub(details.Discount.Decimal).Add(details.TotalCharges.Decimal).Add(details.TotalTaxes.Decimal))
	details.Payable.Decimal = t.reconcile("payable_amount", draft.Payable, details.Total.Decimal)
	t.payments(details.Payable.Decimal)
	details.Flags = t.flags
	customer := draft.Customer
	if customer.Address == nil {
		customer.Address = &Address{}
	}
	here := &setting.Store
	store := RelayStore{here.ID, here.RefID, here.Name, here.Address, here.Latitude, here.Longitude}
	relay := Relay{customer,
		Body{Details: details, Items: t.items, Payment: orEmpty(draft.Payment), Store: store}}
	relay.setState(Placed)
	return relay, nil
}

// splitTotals divides the charges and taxes of the order into those on items and the rest.
func (t *pricer) splitTotals(details *Details) {
	charges, taxes := zero, zero
	for i := range t.items {
		charges, taxes = charges.Add(sum(t.items[i].Charges)), taxes.Add(sum(t.items[i].Taxes))
	}
	details.ItemCharges.Decimal, details.ItemTaxes.Decimal = charges, taxes
	details.OrderCharges.Decimal = details.TotalCharges.Sub(charges)
	details.OrderTaxes.Decimal = details.TotalTaxes.Sub(taxes)
}

var zero = decimal.Zero

// round rounds half up to the currency's minor unit.
func (t *pricer) round(d decimal.Decimal) decimal.Decimal { return d.Round(t.scale) }

// reconcile returns a total as it was sent, or else as computed, and flags a difference.
func (t *pricer) reconcile(path string, sent *core.Amount, computed decimal.Decimal) decimal.Decimal {
	computed = t.round(computed)
	if sent == nil {
		return computed
	}
	t.compare(path, "the hub calculates a different "+path, sent.Decimal, computed)
	return sent.Decimal
}

// compare flags amounts that differ by the currency's smallest unit or more.
func (t *pricer) compare(path, message string, sent, computed decimal.Decimal) {
	if sent.Sub(computed).Abs().GreaterThanOrEqual(decimal.New(1, -t.scale)) {
		t.flags = append(t.flags, Flag{Path: path, Code: Differs, Message: message,
			Sent: &core.Amount{Decimal: sent}, Computed: &core.Amount{Decimal: computed}})
	}
}

func (t *pricer) flag(path, code, message string) {
	t.flags = append(t.flags, Flag{Path: path, Code: code, Message: message})
}

// flagStore flags what keeps the store from fulfilling the order. The opening hours apply at the requested delivery
// time, or else at the time of arrival.
func (t *pricer) flagStore(at time.Time) {
	store := &t.pricing.Store
	if !store.Active {
		t.flag("store_ref_id", StoreInactive, "the store is not active")
	}
	if !store.OrderingEnabled {
		t.flag("store_ref_id", OrderingDisabled, "the store does not accept orders now")
	}
	if !store.Listed {
		t.flag("store_ref_id", NotListed, "the store is not listed on this platform")
	}
	if len(store.Hours) == 0 {
		return
	}
	if t.draft.DeliverAt != nil {
		at = time.UnixMilli(int64(*t.draft.DeliverAt))
	}
	if open, _ := core.WithinHours(store.Hours, at.In(store.Zone)); !open {
		t.flag("store_ref_id", StoreClosed, "the store is closed at that time")
	}
}

// flagMinimum flags an order below the store's minimum. The minimum applies only to the merchant's own channels,
// because it is not published to aggregators.
func (t *pricer) flagMinimum(subtotal decimal.Decimal) {
	minimum := t.pricing.Store.MinOrder
	if minimum != nil && t.pricing.Platform.ServedBy == core.ServedByMerchant && subtotal.LessThan(minimum.Decimal) {
		t.flags = append(t.flags,
			Flag{Path: "order_subtotal", Code: BelowMinimum,
				Message: "the order is below the min_order_value of the store",
				Sent:    &core.Amount{Decimal: subtotal}, Computed: minimum})
	}
}

// flagDiscount flags a discount that exceeds the amount due.
func (t *pricer) flagDiscount(discount core.Amount, due decimal.Decimal) {
	if discount.GreaterThan(due) {
		t.flags = append(t.flags,
			Flag{Path: "discount", Code: Exceeds, Message: "the discount exceeds the order total without it",
				Sent: &discount, Computed: &core.Amount{Decimal: due}})
	}
}

// payments flags payments that do not add up to the payable amount.
func (t *pricer) payments(payable decimal.Decimal) {
	if len(t.draft.Payment) == 0 {
		return
	}
	paid := zero
	for _, p := range t.draft.Payment {
		paid = paid.Add(p.Amount.Decimal)
	}
	t.compare("payment", "the payments do not add up to the payable amount", paid, payable)
}

func (t *pricer) platform() RelayPlatform {
	platform := RelayPlatform{
		ID: string(t.draft.PlatformOrderID), Name: t.pricing.Platform.EventName(), Kind: "aggregator",
		DeliveryMode:    t.draft.DeliveryMode,
		PlatformStoreID: t.pricing.Store.PlatformStoreID, Extras: RelayExtras{t.draft.Bulk},
		Discounts: orEmpty(t.draft.Discounts),
	}
	usual := PartnerDelivery
	if t.pricing.Platform.ServedBy == core.ServedByMerchant {
		platform.Kind, usual = "own", SelfDelivery
	}
	if platform.DeliveryMode == "" {
		platform.DeliveryMode = usual
	}
	return platform
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// adjustment is a charge or a tax.
type adjustment interface{ amount() decimal.Decimal }

func sum[T adjustment](levies []T) decimal.Decimal {
	total := zero
	for _, levy := range levies {
		total = total.Add(levy.amount())
	}
	return total
}
