package orders

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// receipt is the content of an order as a table: items with their options, then charges, taxes, discounts and totals.
// An item's amount includes its options. The charges and taxes of items are among those of the order.
type receipt struct {
	list     ui.List
	currency string
}

func receiptOf(body order.Body, currency string) ui.List {
	r := receipt{currency: currency, list: ui.List{Name: text.Receipt,
		Columns: []ui.Column{{Label: text.ReceiptLine, Kind: ui.Wide}, {Label: text.ReceiptQuantity, Kind: ui.Figure},
			{Label: text.ReceiptPrice, Kind: ui.Figure}, {Label: text.ReceiptAmount, Kind: ui.Figure}}}}
	for _, item := range body.Items {
		r.addItem(item)
	}
	d := body.Details
	r.addTotal(text.ReceiptSubtotal, "", d.Subtotal)
	for _, charge := range d.Charges {
		r.addTotal(cmp.Or(charge.Title, text.ReceiptCharge), "", *charge.Value)
	}
	for _, tax := range d.Taxes {
		title := cmp.Or(tax.Title, text.ReceiptTax)
		if tax.Rate != nil {
			title = fmt.Sprintf(text.ReceiptTaxRate, title, tax.Rate)
		}
		r.addTotal(title, "", *tax.Value)
	}
	r.addDiscounts(body)
	r.addTotal(text.ReceiptTotal, "", d.Total)
	if !d.Payable.Equal(d.Total.Decimal) {
		r.addTotal(text.Payable, "", d.Payable)
	}
	for _, payment := range body.Payment {
		r.addTotal(fmt.Sprintf(text.ReceiptPaid, payment.Option), payment.Serial, *payment.Amount)
	}
	return r.list
}

func (r *receipt) addItem(item order.Item) {
	note := ui.JoinNonEmpty(" · ", item.RefID, lineID(item.LineID), item.Instructions)
	r.list.Add(ui.Cell{Text: cmp.Or(item.Title, item.RefID), Note: note},
		ui.T(ui.Number(item.Quantity)), ui.T(r.price(item.Price)), ui.T(r.price(item.Total)))
	for _, option := range item.Options {
		quantity := ""
		if option.Quantity > 1 {
			quantity = fmt.Sprintf(text.ReceiptEach, option.Quantity)
		}
		title := strings.Repeat("+ ", depth(item.Options, option)) + cmp.Or(option.Title, option.RefID)
		note := ui.JoinNonEmpty(" · ", option.RefID, lineID(option.LineID), option.Group.Title)
		r.list.Add(ui.Cell{Text: title, Note: note}, ui.T(quantity), ui.T(r.price(option.Price)), ui.Cell{})
	}
}

// depth returns how many options an option is below the item, with itself. A parent comes before its options.
func depth(options []order.Option, o order.Option) int {
	levels := 1
	for o.Parent != nil && levels <= len(options) {
		o, levels = options[*o.Parent], levels+1
	}
	return levels
}

func lineID(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(text.ReceiptLineID, id)
}

// addDiscounts adds each discount of the platform and their sum, which the platform may send without them.
func (r *receipt) addDiscounts(body order.Body) {
	known := core.Amount{}
	for _, platform := range body.Details.Platforms {
		for _, discount := range platform.Discounts {
			known.Decimal = known.Add(discount.Value.Decimal)
			r.addTotal(cmp.Or(discount.Title, text.ReceiptDiscount),
				ui.JoinNonEmpty(" · ", discount.Code, paidBy(discount)), core.Amount{Decimal: discount.Value.Neg()})
		}
	}
	if rest := body.Details.Discount.Sub(known.Decimal); !rest.IsZero() {
		r.addTotal(text.ReceiptDiscount, body.Details.Coupon, core.Amount{Decimal: rest.Neg()})
	}
}

// paidBy says who pays for a discount. It returns "" if the platform did not say so.
func paidBy(d order.Discount) string {
	switch {
	case d.ByMerchant == nil:
		return ""
	case *d.ByMerchant:
		return text.ReceiptByMerchant
	default:
		return text.ReceiptByPlatform
	}
}

func (r *receipt) addTotal(title, note string, amount core.Amount) {
	r.list.Add(ui.Cell{Text: title, Note: note}, ui.Cell{}, ui.Cell{}, ui.T(r.price(amount)))
}

func (r *receipt) price(amount core.Amount) string { return ui.Price(amount.String(), r.currency) }
