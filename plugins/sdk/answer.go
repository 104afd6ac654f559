package sdk

import (
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// CheckAnswer names what makes an answer of a plugin of no use to the hub: a decision
// that cannot be carried out (CheckDecision), a translation that says nothing, an
// outcome without a state.
func CheckAnswer(d *Description, answer proto.Message) error {
	c := &faults{}
	switch a := answer.(type) {
	case *Decision:
		return CheckDecision(d, a)
	case *Translation:
		c.check(a.GetOrder() != nil || a.GetCancellation().GetPlatformOrderId() != "" || a.GetIgnored() != "",
			"it says neither that it is an order, or which it cancels, nor why it is ignored")
	case interface{ GetState() pb.OutcomeState }:
		state := a.GetState()
		_, named := pb.OutcomeState_name[int32(state)]
		c.check(named && state != pb.OutcomeState_OUTCOME_STATE_UNSPECIFIED, "the outcome's state %d is none", state)
		_, oos := answer.(*ItemsOOSOutcome)
		c.check(!oos || state != pb.OutcomeState_OUTCOME_STATE_PENDING, "the outcome's state is pending, but nothing of it comes later")
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

// CheckOrder names the decimal numbers of an order that are none, such as 12,50.
func CheckOrder(o *NewOrder) error {
	c := &faults{}
	c.decimals("", o.ProtoReflect())
	return c.err()
}

func (c *faults) decimals(path string, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		at, value := path+string(field.Name()), m.Get(field)
		switch {
		case !m.Has(field):
		case field.IsList() && field.Message() != nil:
			for n := range value.List().Len() {
				c.decimals(fmt.Sprintf("%s[%d].", at, n), value.List().Get(n).Message())
			}
		case field.Message() != nil && !field.IsMap():
			c.decimals(at+".", value.Message())
		case IsDecimal(string(field.Name())):
			c.check(jsonNumber.MatchString(value.String()), "%s: %q is no decimal number", at, value.String())
		}
	}
}
