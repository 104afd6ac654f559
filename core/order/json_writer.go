package order

import (
	"strconv"

	"github.com/servery-hub/servery/core"
)

// AppendTo appends the body as the JSON library would write it. It is written by hand for speed, because every
// accepted order is encoded once. Text that is not valid UTF-8 is an error, but the decoder rejects such text.
func (r *Relay) AppendTo(out []byte) ([]byte, error) {
	a := jsonWriter{out: out}
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
		a.text(`,"srvr_trx_id":`, p.Serial)
		a.raw("}")
	}
	store := &r.Order.Store
	a.int(`],"store":{"id":`, store.ID)
	a.text(`,"merchant_ref_id":`, store.RefID)
	a.text(`,"name":`, store.Name)
	a.text(`,"address":`, store.Address)
	a.amountOrNull(`,"latitude":`, store.Latitude)
	a.amountOrNull(`,"longitude":`, store.Longitude)
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

// jsonWriter writes JSON member by member. Names include the punctuation before them.
type jsonWriter struct {
	out []byte
	err error // the first
}

func (a *jsonWriter) raw(text string) { a.out = append(a.out, text...) }

func (a *jsonWriter) comma(i int) {
	if i > 0 {
		a.out = append(a.out, ',')
	}
}

func (a *jsonWriter) int(name string, n int64) {
	a.raw(name)
	a.out = strconv.AppendInt(a.out, n, 10)
}

func (a *jsonWriter) intOrNull(name string, n *int64) {
	a.raw(name)
	if n == nil {
		a.raw("null")
		return
	}
	a.int("", *n)
}

func (a *jsonWriter) bool(name string, b bool) {
	a.raw(name)
	a.out = strconv.AppendBool(a.out, b)
}

func (a *jsonWriter) text(name, text string) {
	a.raw(name)
	out, err := core.AppendString(a.out, text)
	if a.out = out; err != nil && a.err == nil {
		a.err = err
	}
}

func (a *jsonWriter) textIfAny(name, text string) {
	if text != "" {
		a.text(name, text)
	}
}

func (a *jsonWriter) amount(name string, amount core.Amount) {
	a.raw(name)
	a.out = amount.AppendTo(a.out)
}

func (a *jsonWriter) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		a.amount(name, *amount)
	}
}

func (a *jsonWriter) amountOrNull(name string, amount *core.Amount) {
	if amount == nil {
		a.raw(name)
		a.raw("null")
		return
	}
	a.amount(name, *amount)
}

func (a *jsonWriter) customer(c *Customer) {
	a.text(`{"customer":{"name":`, c.Name)
	a.text(`,"email":`, c.Email)
	a.text(`,"phone":`, c.Phone)
	if at := c.Address; at == nil {
		a.raw(`,"address":null`)
	} else {
		a.text(`,"address":{"line_1":`, at.Line1)
		a.text(`,"line_2":`, at.Line2)
		a.text(`,"landmark":`, at.Landmark)
		a.text(`,"city":`, at.City)
		a.text(`,"sub_locality":`, at.SubLocality)
		a.text(`,"pin":`, at.Pin)
		a.amountOrNull(`,"latitude":`, at.Latitude)
		a.amountOrNull(`,"longitude":`, at.Longitude)
		a.raw("}")
	}
	a.raw("}")
}

func (a *jsonWriter) details(d *Details) {
	a.int(`,"order":{"details":{"id":`, d.ID)
	a.int(`,"biz_id":`, int64(d.Business))
	a.text(`,"biz_name":`, d.BusinessName)
	a.text(`,"channel":`, d.Channel)
	a.text(`,"order_state":`, string(d.State))
	a.text(`,"state":`, string(d.StateAlias))
	a.text(`,"order_type":`, string(d.Kind))
	a.int(`,"created":`, d.Created)
	a.intOrNull(`,"delivery_datetime":`, d.DeliverAt)
	a.intOrNull(`,"prep_time":`, d.PrepMinutes)
	a.text(`,"instructions":`, d.Instructions)
	a.text(`,"coupon":`, d.Coupon)
	a.amount(`,"order_subtotal":`, d.Subtotal)
	a.amount(`,"discount":`, d.Discount)
	a.amount(`,"total_charges":`, d.TotalCharges)
	a.amount(`,"total_taxes":`, d.TotalTaxes)
	a.amount(`,"item_level_total_charges":`, d.ItemCharges)
	a.amount(`,"item_level_total_taxes":`, d.ItemTaxes)
	a.amount(`,"order_level_total_charges":`, d.OrderCharges)
	a.amount(`,"order_level_total_taxes":`, d.OrderTaxes)
	a.amount(`,"order_total":`, d.Total)
	a.amount(`,"payable_amount":`, d.Payable)
	a.charges(d.Charges)
	a.taxes(d.Taxes)
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

func (a *jsonWriter) charges(charges []Charge) {
	a.raw(`,"charges":[`)
	for i := range charges {
		a.comma(i)
		a.text(`{"title":`, charges[i].Title)
		a.amountIfAny(`,"rate":`, charges[i].Rate)
		a.amountOrNull(`,"value":`, charges[i].Value)
		a.raw("}")
	}
	a.raw("]")
}

func (a *jsonWriter) taxes(taxes []Tax) {
	a.raw(`,"taxes":[`)
	for i := range taxes {
		a.comma(i)
		a.text(`{"title":`, taxes[i].Title)
		a.amountOrNull(`,"rate":`, taxes[i].Rate)
		a.amountOrNull(`,"value":`, taxes[i].Value)
		a.text(`,"liability_on":`, taxes[i].LiabilityOn)
		a.raw("}")
	}
	a.raw("]")
}

func (a *jsonWriter) platform(p *RelayPlatform) {
	a.text(`{"id":`, p.ID)
	a.text(`,"kind":`, p.Kind)
	a.text(`,"name":`, p.Name)
	a.text(`,"delivery_type":`, string(p.DeliveryMode))
	a.text(`,"platform_store_id":`, p.PlatformStoreID)
	a.bool(`,"extras":{"is_bulk_order":`, p.Extras.Bulk)
	a.raw(`},"discounts":[`)
	for i := range p.Discounts {
		d := &p.Discounts[i]
		a.comma(i)
		a.text(`{"title":`, d.Title)
		a.text(`,"code":`, d.Code)
		a.amountOrNull(`,"value":`, d.Value)
		a.raw(`,"is_merchant_discount":`)
		if d.ByMerchant == nil {
			a.raw("null")
		} else {
			a.bool("", *d.ByMerchant)
		}
		a.raw("}")
	}
	a.raw("]}")
}

func (a *jsonWriter) flags(flags []Flag) {
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

func (a *jsonWriter) item(i *Item) {
	a.int(`{"id":`, i.ID)
	a.text(`,"merchant_id":`, i.RefID)
	a.text(`,"title":`, i.Title)
	a.text(`,"food_type":`, i.FoodType)
	a.amount(`,"price":`, i.Price)
	a.int(`,"quantity":`, i.Quantity)
	a.amount(`,"total":`, i.Total)
	a.amount(`,"total_with_tax":`, i.TotalWithTax)
	a.text(`,"instructions":`, i.Instructions)
	a.raw(`,"tags":[`)
	for n, tag := range i.Tags {
		a.comma(n)
		a.text("", tag)
	}
	a.raw("]")
	a.charges(i.Charges)
	a.taxes(i.Taxes)
	a.raw(`,"options_to_add":[`)
	for n := range i.Options {
		o := &i.Options[n]
		a.comma(n)
		a.int(`{"id":`, o.ID)
		a.text(`,"merchant_id":`, o.RefID)
		a.text(`,"title":`, o.Title)
		a.amount(`,"price":`, o.Price)
		a.int(`,"quantity":`, o.Quantity)
		a.amount(`,"total_price":`, o.TotalPrice)
		a.int(`,"group":{"id":`, o.Group.ID)
		a.text(`,"title":`, o.Group.Title)
		a.raw("}}")
	}
	a.raw("]}")
}
