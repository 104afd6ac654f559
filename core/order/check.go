package order

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// Bounds of texts, in characters, and of numbers.
const (
	maxName     = 255
	maxTitle    = 1000
	maxText     = 2000 // addresses, instructions, messages
	maxQuantity = 100_000
	minMoment   = 1_000_000_000_000 // in epoch milliseconds; a smaller value was sent in seconds
	maxMoment   = 9_999_999_999_999
)

// spot is an object in which violations are recorded: an element of an array, or the body itself.
type spot struct {
	at     core.Object
	v      *core.Violations
	prefix string
}

func (p spot) fail(field, code, rule string) {
	if p.at.Array == "" {
		p.v.AddBody(p.prefix+field, code, rule)
		return
	}
	p.v.Add(p.at, p.prefix+field, code, rule)
}

// other records a value that is not one of the permitted ones.
func other[S ~string](p spot, field string, sent S, allowed ...S) {
	p.fail(field, "value", core.OneOf(allowed, sent))
}

func (p spot) required(field, s string, longest int) {
	if strings.TrimSpace(s) == "" {
		p.fail(field, "required", "is required")
		return
	}
	p.text(field, s, longest)
}

func (p spot) text(field, s string, longest int) {
	if len(s) > longest && utf8.RuneCountInString(s) > longest {
		p.fail(field, "length", fmt.Sprintf("must be at most %d characters long, not %d",
			longest, utf8.RuneCountInString(s)))
	}
}

// residue is the error that floating-point arithmetic can leave of 0: 0.3 - (0.1 + 0.2) is -5.6e-17.
var residue = decimal.New(-1, -9)

func (p spot) notNegative(field string, a *core.Amount) {
	switch {
	case a == nil || !a.IsNegative():
	case a.GreaterThan(residue):
		*a = core.Amount{}
	default:
		p.fail(field, "range", "must not be negative, but is "+a.String())
	}
}

func (p spot) amount(field string, a *core.Amount) {
	if a == nil {
		p.fail(field, "required", "is required")
	}
	p.notNegative(field, a)
}

func (p spot) quantity(n *core.Integer) {
	if n != nil && (*n < 1 || *n > maxQuantity) {
		p.fail("quantity", "range", fmt.Sprintf("must be a whole number from 1 to %d, not %d", maxQuantity, *n))
	}
}

// within checks an angle in degrees.
func (p spot) within(field string, degrees *core.Amount, limit int64) {
	if degrees != nil && degrees.Abs().GreaterThan(decimal.NewFromInt(limit)) {
		p.fail(field, "range", fmt.Sprintf("must be between -%d and %d degrees, not %s", limit, limit, degrees))
	}
}

// check validates the fields of an order except its items.
func check(d *Draft, v *core.Violations) {
	body := spot{v: v}
	body.required("platform", d.Platform, maxName)
	body.required("platform_order_id", string(d.PlatformOrderID), maxName)
	body.required("store_ref_id", d.StoreRefID, maxName)
	if d.Kind != ForDelivery && d.Kind != ForPickup && d.Kind != ForDineIn {
		other(body, "order_type", d.Kind, ForDelivery, ForPickup, ForDineIn)
	}
	if d.Carrier != "" && d.Carrier != BySelf && d.Carrier != ByPartner {
		other(body, "delivery_type", d.Carrier, BySelf, ByPartner)
	}
	body.text("coupon", d.Coupon, maxName)
	body.text("instructions", d.Instructions, maxText)
	if d.DeliverAt != nil && (*d.DeliverAt < minMoment || *d.DeliverAt > maxMoment) {
		body.fail("delivery_datetime", "range", fmt.Sprintf("must be a time in epoch milliseconds, not %d", *d.DeliverAt))
	}
	checkCustomer(&d.Customer, spot{v: v, prefix: "customer."})
	for _, total := range d.Totals.named() {
		body.notNegative(total.name, total.amount)
	}
	each(v, "charges", d.Charges, func(o *Charge, p spot) { checkLevy(o.Title, o.Rate, o.Value, p) })
	each(v, "taxes", d.Taxes, func(o *Tax, p spot) {
		checkLevy(o.Title, o.Rate, o.Value, p)
		p.text("liability_on", o.LiabilityOn, maxName)
	})
	each(v, "discounts", d.Discounts, func(o *Discount, p spot) {
		p.text("title", o.Title, maxTitle)
		p.text("code", o.Code, maxName)
		p.amount("value", o.Value)
	})
	each(v, "payment", d.Payment, func(o *Payment, p spot) {
		p.required("option", o.Option, maxName)
		p.text("srvr_trx_id", o.Serial, maxName)
		p.amount("amount", o.Amount)
	})
}

// namedTotal is a total that was sent, with its name in the body.
type namedTotal struct {
	name   string
	amount *core.Amount
}

func (t *Totals) named() []namedTotal {
	return []namedTotal{
		{"order_subtotal", t.Subtotal}, {"total_charges", t.Charges}, {"total_taxes", t.Taxes},
		{"discount", t.Discount}, {"order_total", t.Total}, {"payable_amount", t.Payable},
	}
}

func each[T any](v *core.Violations, array string, list []T, check func(*T, spot)) {
	if len(list) > maxParts {
		v.AddBody(array, "limit", fmt.Sprintf("must have at most %d elements, not %d", maxParts, len(list)))
		return
	}
	for i := range list {
		check(&list[i], spot{core.Object{Array: array, Index: i}, v, ""})
	}
}

func checkLevy(title string, rate, value *core.Amount, p spot) {
	p.required("title", title, maxTitle)
	p.notNegative("rate", rate)
	p.amount("value", value)
}

func checkCustomer(c *Customer, p spot) {
	p.text("name", c.Name, maxName)
	p.text("email", c.Email, maxName)
	p.text("phone", c.Phone, maxName)
	if c.Address == nil {
		return
	}
	p.prefix += "address."
	for _, line := range []struct{ field, text string }{
		{"line_1", c.Address.Line1}, {"line_2", c.Address.Line2}, {"landmark", c.Address.Landmark},
		{"city", c.Address.City}, {"sub_locality", c.Address.SubLocality}, {"pin", c.Address.Pin},
	} {
		p.text(line.field, line.text, maxText)
	}
	p.within("latitude", c.Address.Latitude, 90)
	p.within("longitude", c.Address.Longitude, 180)
}

func checkLine(l *Line, p spot) {
	p.required("ref_id", l.RefID, maxName)
	if l.Quantity == nil {
		p.fail("quantity", "required", "is required")
	}
	p.quantity(l.Quantity)
	p.notNegative("price", l.Price)
	p.text("title", l.Title, maxTitle)
	p.text("instructions", l.Instructions, maxText)
	if len(l.Options) > MaxItems {
		p.fail("options", "limit", fmt.Sprintf("must have at most %d options, not %d", MaxItems, len(l.Options)))
		return
	}
	for i := range l.Options {
		o, within := &l.Options[i], p
		within.prefix = fmt.Sprintf("options[%d].", i)
		within.required("ref_id", o.RefID, maxName)
		within.quantity(o.Quantity)
		within.notNegative("price", o.Price)
		within.text("title", o.Title, maxTitle)
	}
}
