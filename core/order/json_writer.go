package order

import (
	"strconv"

	"github.com/servery-hub/servery/core"
)

// AppendTo appends the body as the JSON library would write it. It is written by hand for speed, because every accepted
// order is encoded once. Text that is not valid UTF-8 is an error, but the decoder rejects such text.
func (r *Relay) AppendTo(out []byte) ([]byte, error) {
	w := jsonWriter{out: out}
	w.customer(&r.Customer)
	w.details(&r.Order.Details)
	w.raw(`,"items":[`)
	for i := range r.Order.Items {
		w.comma(i)
		w.item(&r.Order.Items[i])
	}
	w.raw(`],"payment":[`)
	for i := range r.Order.Payment {
		p := &r.Order.Payment[i]
		w.comma(i)
		w.text(`{"option":`, p.Option)
		w.amountOrNull(`,"amount":`, p.Amount)
		w.text(`,"srvr_trx_id":`, p.Serial)
		w.raw("}")
	}
	store := &r.Order.Store
	w.int(`],"store":{"id":`, store.ID)
	w.text(`,"merchant_ref_id":`, store.RefID)
	w.text(`,"name":`, store.Name)
	w.text(`,"address":`, store.Address)
	w.amountOrNull(`,"latitude":`, store.Latitude)
	w.amountOrNull(`,"longitude":`, store.Longitude)
	w.textIfAny(`},"next_state":`, string(r.Order.NextState))
	if r.Order.NextState == "" {
		w.raw("}")
	}
	w.raw(`,"next_states":[`)
	for i, state := range r.Order.NextStates {
		w.comma(i)
		w.text("", string(state))
	}
	w.raw("]}}")
	return w.out, w.err
}

// jsonWriter writes JSON member by member. Names include the punctuation before them.
type jsonWriter struct {
	out []byte
	err error // the first
}

func (w *jsonWriter) raw(text string) { w.out = append(w.out, text...) }

func (w *jsonWriter) comma(i int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

func (w *jsonWriter) int(name string, n int64) {
	w.raw(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *jsonWriter) intOrNull(name string, n *int64) {
	w.raw(name)
	if n == nil {
		w.raw("null")
		return
	}
	w.int("", *n)
}

func (w *jsonWriter) intIfAny(name string, n *int64) {
	if n != nil {
		w.int(name, *n)
	}
}

func (w *jsonWriter) bool(name string, b bool) {
	w.raw(name)
	w.out = strconv.AppendBool(w.out, b)
}

func (w *jsonWriter) text(name, text string) {
	w.raw(name)
	out, err := core.AppendString(w.out, text)
	if w.out = out; err != nil && w.err == nil {
		w.err = err
	}
}

func (w *jsonWriter) textIfAny(name, text string) {
	if text != "" {
		w.text(name, text)
	}
}

func (w *jsonWriter) amount(name string, amount core.Amount) {
	w.raw(name)
	w.out = amount.AppendTo(w.out)
}

func (w *jsonWriter) amountIfAny(name string, amount *core.Amount) {
	if amount != nil {
		w.amount(name, *amount)
	}
}

func (w *jsonWriter) amountOrNull(name string, amount *core.Amount) {
	if amount == nil {
		w.raw(name)
		w.raw("null")
		return
	}
	w.amount(name, *amount)
}

func (w *jsonWriter) customer(c *Customer) {
	w.text(`{"customer":{"name":`, c.Name)
	w.text(`,"email":`, c.Email)
	w.text(`,"phone":`, c.Phone)
	if at := c.Address; at == nil {
		w.raw(`,"address":null`)
	} else {
		w.text(`,"address":{"line_1":`, at.Line1)
		w.text(`,"line_2":`, at.Line2)
		w.text(`,"landmark":`, at.Landmark)
		w.text(`,"city":`, at.City)
		w.text(`,"sub_locality":`, at.SubLocality)
		w.text(`,"pin":`, at.Pin)
		w.amountOrNull(`,"latitude":`, at.Latitude)
		w.amountOrNull(`,"longitude":`, at.Longitude)
		w.raw("}")
	}
	w.raw("}")
}

func (w *jsonWriter) details(d *Details) {
	w.int(`,"order":{"details":{"id":`, d.ID)
	w.int(`,"biz_id":`, int64(d.Business))
	w.text(`,"biz_name":`, d.BusinessName)
	w.text(`,"channel":`, d.Channel)
	w.text(`,"order_state":`, string(d.State))
	w.text(`,"state":`, string(d.StateAlias))
	w.text(`,"order_type":`, string(d.Kind))
	w.int(`,"created":`, d.Created)
	w.intOrNull(`,"delivery_datetime":`, d.DeliverAt)
	w.intOrNull(`,"prep_time":`, d.PrepMinutes)
	w.text(`,"instructions":`, d.Instructions)
	w.text(`,"coupon":`, d.Coupon)
	w.amount(`,"order_subtotal":`, d.Subtotal)
	w.amount(`,"discount":`, d.Discount)
	w.amount(`,"total_charges":`, d.TotalCharges)
	w.amount(`,"total_taxes":`, d.TotalTaxes)
	w.amount(`,"item_level_total_charges":`, d.ItemCharges)
	w.amount(`,"item_level_total_taxes":`, d.ItemTaxes)
	w.amount(`,"order_level_total_charges":`, d.OrderCharges)
	w.amount(`,"order_level_total_taxes":`, d.OrderTaxes)
	w.amount(`,"order_total":`, d.Total)
	w.amount(`,"payable_amount":`, d.Payable)
	w.charges(d.Charges)
	w.taxes(d.Taxes)
	w.bool(`,"is_bulk_order":`, d.Bulk)
	w.raw(`,"ext_platforms":[`)
	for i := range d.Platforms {
		w.comma(i)
		w.platform(&d.Platforms[i])
	}
	w.raw("]")
	w.textIfAny(`,"display_id":`, d.DisplayID)
	w.intIfAny(`,"prepare_for":`, d.PrepareFor)
	if d.Cutlery != nil {
		w.bool(`,"cutlery":`, *d.Cutlery)
	}
	if d.Flags != nil {
		w.flags(d.Flags)
	}
	w.raw("}")
}

func (w *jsonWriter) charges(charges []Charge) {
	w.raw(`,"charges":[`)
	for i := range charges {
		w.comma(i)
		w.text(`{"title":`, charges[i].Title)
		w.amountIfAny(`,"rate":`, charges[i].Rate)
		w.amountOrNull(`,"value":`, charges[i].Value)
		w.raw("}")
	}
	w.raw("]")
}

func (w *jsonWriter) taxes(taxes []Tax) {
	w.raw(`,"taxes":[`)
	for i := range taxes {
		w.comma(i)
		w.text(`{"title":`, taxes[i].Title)
		w.amountOrNull(`,"rate":`, taxes[i].Rate)
		w.amountOrNull(`,"value":`, taxes[i].Value)
		w.text(`,"liability_on":`, taxes[i].LiabilityOn)
		w.raw("}")
	}
	w.raw("]")
}

func (w *jsonWriter) platform(p *RelayPlatform) {
	w.text(`{"id":`, p.ID)
	w.text(`,"kind":`, p.Kind)
	w.text(`,"name":`, p.Name)
	w.text(`,"delivery_type":`, string(p.DeliveryMode))
	w.text(`,"platform_store_id":`, p.PlatformStoreID)
	w.bool(`,"extras":{"is_bulk_order":`, p.Extras.Bulk)
	w.raw(`},"discounts":[`)
	for i := range p.Discounts {
		d := &p.Discounts[i]
		w.comma(i)
		w.text(`{"title":`, d.Title)
		w.text(`,"code":`, d.Code)
		w.amountOrNull(`,"value":`, d.Value)
		w.raw(`,"is_merchant_discount":`)
		if d.ByMerchant == nil {
			w.raw("null")
		} else {
			w.bool("", *d.ByMerchant)
		}
		w.raw("}")
	}
	w.raw("]}")
}

func (w *jsonWriter) flags(flags []Flag) {
	w.raw(`,"flags":[`)
	for i := range flags {
		w.comma(i)
		w.text(`{"path":`, flags[i].Path)
		w.text(`,"code":`, flags[i].Code)
		w.text(`,"message":`, flags[i].Message)
		w.amountIfAny(`,"sent":`, flags[i].Sent)
		w.amountIfAny(`,"computed":`, flags[i].Computed)
		w.raw("}")
	}
	w.raw("]")
}

func (w *jsonWriter) item(i *Item) {
	w.int(`{"id":`, i.ID)
	w.text(`,"merchant_id":`, i.RefID)
	w.text(`,"title":`, i.Title)
	w.text(`,"food_type":`, i.FoodType)
	w.amount(`,"price":`, i.Price)
	w.int(`,"quantity":`, i.Quantity)
	w.amount(`,"total":`, i.Total)
	w.amount(`,"total_with_tax":`, i.TotalWithTax)
	w.text(`,"instructions":`, i.Instructions)
	w.raw(`,"tags":[`)
	for n, tag := range i.Tags {
		w.comma(n)
		w.text("", tag)
	}
	w.raw("]")
	w.charges(i.Charges)
	w.taxes(i.Taxes)
	w.raw(`,"options_to_add":[`)
	for n := range i.Options {
		o := &i.Options[n]
		w.comma(n)
		w.int(`{"id":`, o.ID)
		w.text(`,"merchant_id":`, o.RefID)
		w.text(`,"title":`, o.Title)
		w.amount(`,"price":`, o.Price)
		w.int(`,"quantity":`, o.Quantity)
		w.amount(`,"total_price":`, o.TotalPrice)
		w.int(`,"group":{"id":`, o.Group.ID)
		w.text(`,"title":`, o.Group.Title)
		w.raw("}")
		w.textIfAny(`,"line_id":`, o.LineID)
		w.intIfAny(`,"parent":`, o.Parent)
		w.raw("}")
	}
	w.raw("]")
	w.textIfAny(`,"line_id":`, i.LineID)
	w.raw("}")
}
