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
	computed   int              // charges and taxes of the lines
}

// Place prices an order. It accepts the values that the channel sent and takes missing ones from the store's menu. It
// flags differences between the two, and other inconsistencies. It returns an Invalid error if a price was not sent and
// the menu has none.
func Place(draft Draft, pricing PricingContext, id int64, at time.Time) (Relay, error) {
	pr := pricer{draft: &draft, pricing: &pricing, scale: core.MinorDigits(pricing.Currency),
		quantities: map[string]int64{}}
	pr.flagStore(at)
	if err := pr.priceLines(); err != nil {
		return Relay{}, err
	}
	subtotal := zero
	for i := range pr.items {
		subtotal = subtotal.Add(pr.items[i].Total.Decimal)
	}
	subtotal = pr.reconcile("order_subtotal", draft.Subtotal, subtotal)
	pr.flagMinimum(subtotal)
	charges, err := pr.charges(subtotal)
	if err != nil {
		return Relay{}, err
	}
	taxes, err := pr.taxes()
	if err != nil {
		return Relay{}, err
	}
	details := Details{
		ID: id, Business: pricing.Business, BusinessName: pricing.Name, Channel: pricing.Platform.EventName(),
		Kind: draft.Kind, Created: at.UnixMilli(),
		DeliverAt: optionalTime(draft.DeliverAt), Instructions: draft.Instructions, Coupon: draft.Coupon,
		Bulk: draft.Bulk, Charges: charges, Taxes: taxes, Platforms: []RelayPlatform{pr.platform()},
		DisplayID: string(draft.DisplayID), PrepareFor: optionalTime(draft.PrepareFor), Cutlery: draft.Cutlery,
		Subtotal:     core.Amount{Decimal: subtotal},
		TotalCharges: core.Amount{Decimal: pr.reconcile("total_charges", draft.Totals.Charges, sum(charges))},
		TotalTaxes:   core.Amount{Decimal: pr.reconcile("total_taxes", draft.Totals.Taxes, sum(taxes))},
	}
	pr.splitTotals(&details)
	discount := zero
	for _, d := range draft.Discounts {
		discount = discount.Add(d.Value.Decimal)
	}
	details.Discount.Decimal = pr.reconcile("discount", draft.Discount, discount)
	pr.flagDiscount(details.Discount, subtotal.Add(details.TotalCharges.Decimal).Add(details.TotalTaxes.Decimal))
	details.Total.Decimal = pr.reconcile("order_total", draft.Total,
		subtotal.Sub(details.Discount.Decimal).Add(details.TotalCharges.Decimal).Add(details.TotalTaxes.Decimal))
	details.Payable.Decimal = pr.reconcile("payable_amount", draft.Payable, details.Total.Decimal)
	pr.payments(details.Payable.Decimal)
	details.Flags = pr.flags
	customer := draft.Customer
	if customer.Address == nil {
		customer.Address = &Address{}
	}
	s := &pricing.Store
	store := RelayStore{s.ID, s.RefID, s.Name, s.Address, s.Latitude, s.Longitude}
	relay := Relay{customer,
		Body{Details: details, Items: pr.items, Payment: orEmpty(draft.Payment), Store: store}}
	relay.setState(Placed)
	return relay, nil
}

// splitTotals divides the charges and taxes of the order into those on items and the rest.
func (pr *pricer) splitTotals(details *Details) {
	charges, taxes := zero, zero
	for i := range pr.items {
		charges, taxes = charges.Add(sum(pr.items[i].Charges)), taxes.Add(sum(pr.items[i].Taxes))
	}
	details.ItemCharges.Decimal, details.ItemTaxes.Decimal = charges, taxes
	details.OrderCharges.Decimal = details.TotalCharges.Sub(charges)
	details.OrderTaxes.Decimal = details.TotalTaxes.Sub(taxes)
}

var zero = decimal.Zero

// round rounds half up to the currency's minor unit.
func (pr *pricer) round(d decimal.Decimal) decimal.Decimal { return d.Round(pr.scale) }

// reconcile returns a total as it was sent, or else as computed, and flags a difference.
func (pr *pricer) reconcile(path string, sent *core.Amount, computed decimal.Decimal) decimal.Decimal {
	computed = pr.round(computed)
	if sent == nil {
		return computed
	}
	pr.compare(path, "the hub calculates a different "+path, sent.Decimal, computed)
	return sent.Decimal
}

// compare flags amounts that differ by the currency's smallest unit or more.
func (pr *pricer) compare(path, message string, sent, computed decimal.Decimal) {
	if sent.Sub(computed).Abs().GreaterThanOrEqual(decimal.New(1, -pr.scale)) {
		pr.flags = append(pr.flags, Flag{Path: path, Code: Differs, Message: message,
			Sent: &core.Amount{Decimal: sent}, Computed: &core.Amount{Decimal: computed}})
	}
}

func (pr *pricer) flag(path, code, message string) {
	pr.flags = append(pr.flags, Flag{Path: path, Code: code, Message: message})
}

// flagStore flags what keeps the store from fulfilling the order. The opening hours apply at the requested delivery
// time, or else at the time of arrival.
func (pr *pricer) flagStore(at time.Time) {
	store := &pr.pricing.Store
	if !store.Active {
		pr.flag("store_ref_id", StoreInactive, "the store is not active")
	}
	if !store.OrderingEnabled {
		pr.flag("store_ref_id", OrderingDisabled, "the store does not accept orders now")
	}
	if !store.Listed {
		pr.flag("store_ref_id", NotListed, "the store is not listed on this platform")
	}
	if len(store.Hours.Week)+len(store.Hours.Dates) == 0 {
		return
	}
	if pr.draft.DeliverAt != 0 {
		at = time.UnixMilli(int64(pr.draft.DeliverAt))
	}
	if open, _ := store.Hours.OpenAt(at.In(store.Zone)); !open {
		pr.flag("store_ref_id", StoreClosed, "the store is closed at that time")
	}
}

// flagMinimum flags an order below the store's minimum. The minimum applies only to the merchant's own channels,
// because it is not published to aggregators.
func (pr *pricer) flagMinimum(subtotal decimal.Decimal) {
	minimum := pr.pricing.Store.MinOrder
	if minimum != nil && pr.pricing.Platform.ServedBy == core.ServedByMerchant && subtotal.LessThan(minimum.Decimal) {
		pr.flags = append(pr.flags,
			Flag{Path: "order_subtotal", Code: BelowMinimum,
				Message: "the order is below the min_order_value of the store",
				Sent:    &core.Amount{Decimal: subtotal}, Computed: minimum})
	}
}

// flagDiscount flags a discount that exceeds the amount due.
func (pr *pricer) flagDiscount(discount core.Amount, due decimal.Decimal) {
	if discount.GreaterThan(due) {
		pr.flags = append(pr.flags,
			Flag{Path: "discount", Code: Exceeds, Message: "the discount exceeds the order total without it",
				Sent: &discount, Computed: &core.Amount{Decimal: due}})
	}
}

// payments flags payments that do not add up to the payable amount.
func (pr *pricer) payments(payable decimal.Decimal) {
	if len(pr.draft.Payment) == 0 {
		return
	}
	paid := zero
	for _, p := range pr.draft.Payment {
		paid = paid.Add(p.Amount.Decimal)
	}
	pr.compare("payment", "the payments do not add up to the payable amount", paid, payable)
}

func (pr *pricer) platform() RelayPlatform {
	platform := RelayPlatform{
		ID: string(pr.draft.PlatformOrderID), Name: pr.pricing.Platform.EventName(), Kind: "aggregator",
		DeliveryMode:    pr.draft.DeliveryMode,
		PlatformStoreID: pr.pricing.Store.PlatformStoreID, Extras: RelayExtras{pr.draft.Bulk},
		Discounts: orEmpty(pr.draft.Discounts),
	}
	usual := PartnerDelivery
	if pr.pricing.Platform.ServedBy == core.ServedByMerchant {
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

func sum[T adjustment](list []T) decimal.Decimal {
	total := zero
	for _, entry := range list {
		total = total.Add(entry.amount())
	}
	return total
}
