package order

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// Bounds of texts, in characters, and of numbers.
const (
	maxName        = 255
	maxTitle       = 1000
	maxText        = 2000 // addresses, instructions, messages
	maxQuantity    = 100_000
	minEpochMillis = 1_000_000_000_000 // in epoch milliseconds; a smaller value was sent in seconds
	maxEpochMillis = 9_999_999_999_999
)

// fieldPath is an object in which violations are recorded: an element of an array, or the body itself.
type fieldPath struct {
	at     core.Object
	v      *core.Violations
	prefix string
}

func (p fieldPath) fail(field, code, rule string) {
	if p.at.Array == "" {
		p.v.AddBody(p.prefix+field, code, rule)
		return
	}
	p.v.Add(p.at, p.prefix+field, code, rule)
}

// notAllowed records a value that is not one of the permitted ones.
func notAllowed[S ~string](p fieldPath, field string, sent S, allowed ...S) {
	p.fail(field, "value", core.OneOf(allowed, sent))
}

func (p fieldPath) required(field, s string, longest int) {
	if strings.TrimSpace(s) == "" {
		p.fail(field, "required", "is required")
		return
	}
	p.text(field, s, longest)
}

func (p fieldPath) text(field, s string, longest int) {
	if rule := core.TooLong(s, longest); rule != "" {
		p.fail(field, "length", rule)
	}
}

// residue is the error that floating-point arithmetic can leave of 0: 0.3 - (0.1 + 0.2) is -5.6e-17.
var residue = decimal.New(-1, -9)

func (p fieldPath) notNegative(field string, a *core.Amount) {
	switch {
	case a == nil || !a.IsNegative():
	case a.GreaterThan(residue):
		*a = core.Amount{}
	default:
		p.fail(field, "range", "must not be negative, but is "+a.String())
	}
}

func (p fieldPath) amount(field string, a *core.Amount) {
	if a == nil {
		p.fail(field, "required", "is required")
	}
	p.notNegative(field, a)
}

func (p fieldPath) quantity(n *core.Integer) {
	if n != nil && (*n < 1 || *n > maxQuantity) {
		p.fail("quantity", "range", fmt.Sprintf("must be a whole number from 1 to %d, not %d", maxQuantity, *n))
	}
}

// withinDegrees checks an angle in degrees.
func (p fieldPath) withinDegrees(field string, degrees *core.Amount, limit int64) {
	if degrees != nil && degrees.Abs().GreaterThan(decimal.NewFromInt(limit)) {
		p.fail(field, "range", fmt.Sprintf("must be between -%d and %d degrees, not %s", limit, limit, degrees))
	}
}

// time checks a time in epoch milliseconds. 0 was not sent.
func (p fieldPath) time(field string, at core.PositiveInt) {
	if at != 0 && (at < minEpochMillis || at > maxEpochMillis) {
		p.fail(field, "range", fmt.Sprintf("must be a time in epoch milliseconds, not %d", at))
	}
}

// check validates the fields of an order except its items.
func check(d *Draft, v *core.Violations) {
	body := fieldPath{v: v}
	body.required("platform", d.Platform, maxName)
	body.required("platform_order_id", string(d.PlatformOrderID), maxName)
	body.required("store_ref_id", string(d.StoreRefID), maxName)
	if d.Kind != ForDelivery && d.Kind != ForPickup && d.Kind != ForDineIn {
		notAllowed(body, "order_type", d.Kind, ForDelivery, ForPickup, ForDineIn)
	}
	if d.DeliveryMode != "" && d.DeliveryMode != SelfDelivery && d.DeliveryMode != PartnerDelivery {
		notAllowed(body, "delivery_type", d.DeliveryMode, SelfDelivery, PartnerDelivery)
	}
	body.text("coupon", d.Coupon, maxName)
	body.text("instructions", d.Instructions, maxText)
	body.time("delivery_datetime", d.DeliverAt)
	body.text("display_id", string(d.DisplayID), maxName)
	body.time("prepare_for", d.PrepareFor)
	checkCustomer(&d.Customer, fieldPath{v: v, prefix: "customer."})
	for _, total := range d.Totals.list() {
		body.notNegative(total.name, total.amount)
	}
	checkEach(v, "charges", d.Charges, func(o *Charge, p fieldPath) { checkAdjustment(o.Title, o.Rate, o.Value, p) })
	checkEach(v, "taxes", d.Taxes, func(o *Tax, p fieldPath) {
		checkAdjustment(o.Title, o.Rate, o.Value, p)
		p.text("liability_on", o.LiabilityOn, maxName)
	})
	checkEach(v, "discounts", d.Discounts, func(o *Discount, p fieldPath) {
		p.text("title", o.Title, maxTitle)
		p.text("code", o.Code, maxName)
		p.amount("value", o.Value)
	})
	checkEach(v, "payment", d.Payment, func(o *Payment, p fieldPath) {
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

func (t *Totals) list() []namedTotal {
	return []namedTotal{
		{"order_subtotal", t.Subtotal}, {"total_charges", t.Charges}, {"total_taxes", t.Taxes},
		{"discount", t.Discount}, {"order_total", t.Total}, {"payable_amount", t.Payable},
	}
}

func checkEach[T any](v *core.Violations, array string, list []T, check func(*T, fieldPath)) {
	if len(list) > maxParts {
		v.AddBody(array, "limit", fmt.Sprintf("must have at most %d elements, not %d", maxParts, len(list)))
		return
	}
	for i := range list {
		check(&list[i], fieldPath{core.Object{Array: array, Index: i}, v, ""})
	}
}

func checkAdjustment(title string, rate, value *core.Amount, p fieldPath) {
	p.required("title", title, maxTitle)
	p.notNegative("rate", rate)
	p.amount("value", value)
}

func checkCustomer(c *Customer, p fieldPath) {
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
	p.withinDegrees("latitude", c.Address.Latitude, 90)
	p.withinDegrees("longitude", c.Address.Longitude, 180)
}

func checkLine(l *Line, p fieldPath) {
	p.required("ref_id", string(l.RefID), maxName)
	if l.Quantity == nil {
		p.fail("quantity", "required", "is required")
	}
	p.quantity(l.Quantity)
	p.notNegative("price", l.Price)
	p.text("title", l.Title, maxTitle)
	p.text("instructions", l.Instructions, maxText)
	p.text("line_id", string(l.LineID), maxName)
	if len(l.Options) > MaxItems {
		p.fail("options", "limit", fmt.Sprintf("must have at most %d options, not %d", MaxItems, len(l.Options)))
		return
	}
	for i := range l.Options {
		o, within := &l.Options[i], p
		within.prefix = fmt.Sprintf("options[%d].", i)
		within.required("ref_id", string(o.RefID), maxName)
		within.quantity(o.Quantity)
		within.notNegative("price", o.Price)
		within.text("title", o.Title, maxTitle)
		within.text("line_id", string(o.LineID), maxName)
		if o.Parent != nil && (*o.Parent < 0 || *o.Parent >= core.Integer(i)) {
			within.fail("parent", "range",
				fmt.Sprintf("must be the index of an earlier option of the item, not %d", *o.Parent))
		}
	}
}
