package order

import (
	"strconv"

	"github.com/servery-hub/servery/core"
)

// AppendTo appends the body as the JSON library would write it. Every order that
// comes in is written once, so this is done by hand. Text that is not valid
// UTF-8 is an error; the decoder lets none in.
func (r *Relay) AppendTo(out []byte) ([]byte, error) {
	a := appender{out: out}
	a.customer(&r.Customer)
	a.details(&r.Order.Details)
	a.raw(`,"items":[`)
	for i := range r.Order.Items {
		a.comma(i)
		a.item(&r.Order.Items[i])
	}
	a.raw(`],"payment":[`)
	for i := range r.Order.Payment {
		p := &r.Order.Payment[i]
		a.comma(i)
		a.text(`{"option":`, p.Option)
		a.amountOrNull(`,"amount":`, p.Amount)
		a.textIfAny(`,"srvr_trx_id":`, p.Serial)
		a.raw("}")
	}
	store := &r.Order.Store
	a.int(`],"store":{"id":`, store.ID)
	a.text(`,"merchant_ref_id":`, store.RefID)
	a.text(`,"name":`, store.Name)
	a.text(`,"address":`, store.Address)
	a.textIfAny(`},"next_state":`, string(r.Order.NextState))
	if r.Order.NextState == "" {
		a.raw("}")
	}
	a.raw(`,"next_states":[`)
	for i, state := range r.Order.NextStates {
		a.comma(i)
		a.text("", string(state))
	}
	a.raw("]}}")
	return a.out, a.err
}

// appender writes JSON member by member. Names come with the punctuation before them.
type appender struct {
	out []byte
	err error // the first
}

func (a *appender) raw(text string) { a.out = append(a.out, text...) }

func (a *appender) comma(i int) {
	if i > 0 {
		a.out = append(a.out, ',')
	}
}

func (a *appender) int(name string, n int64) {
	a.raw(name)
	a.out = strconv.AppendInt(a.out, n, 10)
}

func (a *appender) bool(name string, b bool) {
	a.raw(name)
	a.out = strconv.AppendBool(a.out, b)
}

func (a *appender) text(name, text string) {
	a.raw(name)
	out, err := core.AppendText(a.out, text)
	if a.out = out; err != nil && a.err == nil {
		a.err = err
	}
}

func (a *appender) textIfAny(name, text string) {
	if text != "" {
		a.text(name, text)
	}
}

func (a *appender) amount(name string, amount core.Amount) {
	a.raw(name)
	a.out = amount.AppendTo(a.out)
}

func (a *appender) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		a.amount(name, *amount)
	}
}

func (a *appender) amountOrNull(name string, amount *core.Amount) {
	if amount == nil {
		a.raw(name)
		a.raw("null")
		return
	}
	a.amount(name, *amount)
}

func (a *appender) customer(c *Customer) {
	a.text(`{"customer":{"name":`, c.Name)
	a.text(`,"email":`, c.Email)
	a.text(`,"phone":`, c.Phone)
	if at := c.Address; at != nil {
		a.text(`,"address":{"line_1":`, at.Line1)
		a.text(`,"line_2":`, at.Line2)
		a.text(`,"landmark":`, at.Landmark)
		a.text(`,"city":`, at.City)
		a.text(`,"sub_locality":`, at.SubLocality)
		a.text(`,"pin":`, at.Pin)
		a.amountIfAny(`,"latitude":`, at.Latitude)
		a.amountIfAny(`,"longitude":`, at.Longitude)
		a.raw("}")
	}
	a.raw("}")
}

func (a *appender) details(d *Details) {
	a.int(`,"order":{"details":{"id":`, d.ID)
	a.int(`,"biz_id":`, int64(d.Business))
	a.text(`,"channel":`, d.Channel)
	a.text(`,"order_state":`, string(d.State))
	a.text(`,"order_type":`, string(d.Kind))
	a.int(`,"created":`, d.Created)
	if d.DeliverAt != nil {
		a.int(`,"delivery_datetime":`, *d.DeliverAt)
	}
	a.text(`,"instructions":`, d.Instructions)
	a.text(`,"coupon":`, d.Coupon)
	a.amount(`,"order_subtotal":`, d.Subtotal)
	a.amount(`,"discount":`, d.Discount)
	a.amount(`,"total_charges":`, d.TotalCharges)
	a.amount(`,"total_taxes":`, d.TotalTaxes)
	a.amount(`,"order_total":`, d.Total)
	a.amount(`,"payable_amount":`, d.Payable)
	a.levies(`,"charges":[`, d.Charges)
	a.levies(`,"taxes":[`, d.Taxes)
	a.bool(`,"is_bulk_order":`, d.Bulk)
	a.raw(`,"ext_platforms":[`)
	for i := range d.Platforms {
		a.comma(i)
		a.platform(&d.Platforms[i])
	}
	a.raw("]")
	if d.Flags != nil {
		a.flags(d.Flags)
	}
	a.raw("}")
}

func (a *appender) levies(name string, levies []Levy) {
	a.raw(name)
	for i := range levies {
		a.comma(i)
		a.text(`{"title":`, levies[i].Title)
		a.amountIfAny(`,"rate":`, levies[i].Rate)
		a.amountOrNull(`,"value":`, levies[i].Value)
		a.raw("}")
	}
	a.raw("]")
}

func (a *appender) platform(p *RelayPlatform) {
	a.text(`{"id":`, p.ID)
	a.text(`,"kind":`, p.Kind)
	a.text(`,"name":`, p.Name)
	a.text(`,"delivery_type":`, string(p.Carrier))
	a.textIfAny(`,"platform_store_id":`, p.PlatformStoreID)
	a.bool(`,"extras":{"is_bulk_order":`, p.Extras.Bulk)
	a.raw(`},"discounts":[`)
	for i := range p.Discounts {
		d := &p.Discounts[i]
		a.comma(i)
		a.raw("{")
		if d.Title != "" {
			a.text(`"title":`, d.Title)
			a.raw(",")
		}
		if d.Code != "" {
			a.text(`"code":`, d.Code)
			a.raw(",")
		}
		a.amountOrNull(`"value":`, d.Value)
		a.raw("}")
	}
	a.raw("]}")
}

func (a *appender) flags(flags []Flag) {
	a.raw(`,"flags":[`)
	for i := range flags {
		a.comma(i)
		a.text(`{"path":`, flags[i].Path)
		a.text(`,"code":`, flags[i].Code)
		a.text(`,"message":`, flags[i].Message)
		a.amountIfAny(`,"sent":`, flags[i].Sent)
		a.amountIfAny(`,"computed":`, flags[i].Computed)
		a.raw("}")
	}
	a.raw("]")
}

func (a *appender) item(i *Item) {
	a.raw("{")
	if i.ID != 0 {
		a.int(`"id":`, i.ID)
		a.raw(",")
	}
	a.text(`"merchant_id":`, i.RefID)
	a.text(`,"title":`, i.Title)
	a.textIfAny(`,"food_type":`, i.FoodType)
	a.amount(`,"price":`, i.Price)
	a.int(`,"quantity":`, i.Quantity)
	a.amount(`,"total":`, i.Total)
	a.amount(`,"total_with_tax":`, i.TotalWithTax)
	a.text(`,"instructions":`, i.Instructions)
	a.levies(`,"charges":[`, i.Charges)
	a.levies(`,"taxes":[`, i.Taxes)
	a.raw(`,"options_to_add":[`)
	for n := range i.Options {
		o := &i.Options[n]
		a.comma(n)
		a.raw("{")
		if o.ID != 0 {
			a.int(`"id":`, o.ID)
			a.raw(",")
		}
		a.text(`"merchant_id":`, o.RefID)
		a.text(`,"title":`, o.Title)
		a.amount(`,"price":`, o.Price)
		a.int(`,"quantity":`, o.Quantity)
		a.raw("}")
	}
	a.raw("]}")
}
