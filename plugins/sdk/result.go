package sdk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// CheckResult names what makes an answer of a plugin of no use to the hub: a decision
// that cannot be carried out (CheckDecision), a translation that says nothing, a finding
// that does not say what is wrong, an outcome without a state.
func CheckResult(d *Description, answer proto.Message) error {
	c := &validation{}
	switch a := answer.(type) {
	case *Decision:
		return CheckDecision(d, a)
	case *Translation:
		c.check(a.GetOrder() != nil || a.GetCancellation().GetPlatformOrderId() != "" || a.GetIgnored() != "",
			"it says neither that it is an order, or which it cancels, nor why it is ignored")
	case *pb.FindingsChunk:
		for _, f := range a.GetFindings() {
			c.check(f.GetRule() != "" &&
				f.GetMessage() != "", "the finding of item %q: needs a rule and a message", f.GetRefId())
		}
	case interface{ GetState() pb.OutcomeState }:
		state := a.GetState()
		_, named := pb.OutcomeState_name[int32(state)]
		c.check(named && state != pb.OutcomeState_OUTCOME_STATE_UNSPECIFIED, "the outcome's state %d is none", state)
		_, action := answer.(*ActionOutcome) // of which alone a callback tells
		c.check(action || state != pb.OutcomeState_OUTCOME_STATE_PENDING,
			"the outcome's state is pending, but nothing of it comes later")
	}
	return c.err()
}

// decimals are the members of an order that are texts and hold a decimal number,
// wherever they stand.
var decimals = []string{
	"price", "value", "rate", "amount", "latitude", "longitude",
	"order_subtotal", "total_charges", "total_taxes", "discount", "order_total", "payable_amount",
}

// IsDecimal tells whether a member of an order is a text that holds a decimal number.
func IsDecimal(member string) bool { return slices.Contains(decimals, member) }

// jsonNumber is a number as JSON writes it.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// maxQuantity bounds an item or option of an order.
const maxQuantity = 100_000

// CheckOrder names what an order lacks that every order has, and what is wrong in itself:
// a quantity of 0, a decimal number such as 12,50, a text with a NUL character. A plugin
// whose aggregator sends such an order refuses it (Refusef).
func CheckOrder(o *NewOrder) error {
	c := &validation{}
	if o == nil {
		return nil
	}
	c.check(o.GetPlatformOrderId() != "", "platform_order_id: is required")
	c.check(o.GetStoreRefId() != "" || o.GetPlatformStoreId() != "", "store_ref_id: is required, or platform_store_id")
	c.check(slices.Contains([]string{"", "delivery", "pickup", "dine_in"}, o.GetOrderType()),
		"order_type: %q must be delivery, pickup or dine_in", o.GetOrderType())
	c.check(slices.Contains([]string{"", "self", "partner"}, o.GetDeliveryType()),
		"delivery_type: %q must be self or partner", o.GetDeliveryType())
	c.check(len(o.GetItems()) > 0, "items: at least one is required")
	for i, item := range o.GetItems() {
		c.orderedItem(fmt.Sprintf("items[%d]", i), item.GetRefId(), item.GetQuantity(), 1)
		for n, option := range item.GetOptions() {
			// 0 was not sent: 1
			c.orderedItem(fmt.Sprintf("items[%d].options[%d]", i, n), option.GetRefId(), option.GetQuantity(), 0)
		}
	}
	c.fields("", o.ProtoReflect())
	return c.err()
}

func (c *validation) orderedItem(at, refID string, quantity, least int64) {
	c.check(refID != "", "%s.ref_id: is required", at)
	c.check(quantity >= least &&
		quantity <= maxQuantity, "%s.quantity: %d must be from 1 to %d", at, quantity, maxQuantity)
}

func (c *validation) fields(path string, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		at, value := path+string(field.Name()), m.Get(field)
		switch {
		case !m.Has(field):
		case field.IsList() && field.Message() != nil:
			for n := range value.List().Len() {
				c.fields(fmt.Sprintf("%s[%d].", at, n), value.List().Get(n).Message())
			}
		case field.Message() != nil && !field.IsMap():
			c.fields(at+".", value.Message())
		case IsDecimal(string(field.Name())):
			c.check(jsonNumber.MatchString(value.String()), "%s: %q is no decimal number", at, value.String())
		case field.Kind() == protoreflect.StringKind && !field.IsList():
			c.check(!strings.ContainsRune(value.String(), 0), "%s: must not contain the NUL character", at)
		}
	}
}
