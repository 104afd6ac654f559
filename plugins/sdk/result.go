package sdk

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// CheckResult returns an error that states why the hub cannot use a plugin's result. Examples are an invalid decision
// (CheckDecision), an empty translation, a finding without a message, and an outcome without a state.
func CheckResult(d *Description, answer proto.Message) error {
	c := &validation{}
	if a, ok := answer.(interface{ GetKeep() []*KeptValue }); ok {
		c.kept(a.GetKeep())
	}
	switch a := answer.(type) {
	case *Decision:
		return CheckDecision(d, a)
	case *Translation:
		callback := a.GetCallback() != nil
		c.check(a.GetOrder() != nil || a.GetCancellation().GetPlatformOrderId() != "" || a.GetIgnored() != "" ||
			callback || a.GetFetch() != nil || a.GetOutcome() != nil || hasFollowUp(a) || isAboutStore(a),
			"it says neither that it is an order, or which it cancels, nor why it is ignored")
		if a.GetFetch() != nil {
			c.fetch(d, a.GetFetch())
		}
		c.check(!callback || slices.Contains(d.GetCapabilities(), CapabilityActionCallback),
			"it is a callback, which needs the capability %s", CapabilityActionCallback)
		if a.GetOutcome() != nil {
			c.reported(a.GetOutcome())
		}
		c.followUp(a)
		c.aboutStore(a)
	case *InboundReply: // a served menu
		c.reply(a, ignoredStatuses, MaxServedMenu)
		c.check(a.GetOrderIdMark() == "", "reply: order_id_mark: a menu is about no order")
	case *PollResult:
		c.polled(a)
	case *pb.FindingsChunk:
		for _, f := range a.GetFindings() {
			c.check(f.GetRule() != "" && f.GetMessage() != "", "the finding of %s %q: needs a rule and a message",
				FindingEntity(f), f.GetRefId())
		}
	case interface{ GetState() pb.OutcomeState }:
		if action, ok := answer.(*ActionOutcome); ok && action.GetOrderUpdate() != nil {
			c.orderUpdate(action.GetOrderUpdate())
		}
		state := a.GetState()
		_, named := pb.OutcomeState_name[int32(state)]
		c.check(named && state != pb.OutcomeState_OUTCOME_STATE_UNSPECIFIED, "the outcome's state %d is none", state)
		_, outOfStock := answer.(*ItemsOOSOutcome) // nothing reports its outcome later
		c.check(!outOfStock || state != pb.OutcomeState_OUTCOME_STATE_PENDING,
			"the outcome's state is pending, but nothing of it comes later")
		if published, ok := answer.(*PublishOutcome); ok {
			c.pending(published)
		}
	}
	return c.err()
}

// fetch checks a plan that fetches the content of a request.
func (c *validation) fetch(d *Description, fetch *pb.Fetch) {
	c.check(slices.Contains(d.GetCapabilities(), CapabilityOrderFetch), "it is a fetch, which needs the capability %s",
		CapabilityOrderFetch)
	c.decision(d, &Decision{Outcome: &pb.Decision_Plan{Plan: fetch.GetPlan()}})
	verbs := []string{fetch.GetPlan().GetMethod()}
	if steps := fetch.GetPlan().GetSteps(); len(steps) > 0 {
		verbs = nil
		for _, s := range steps {
			verbs = append(verbs, s.GetMethod())
		}
	}
	for _, verb := range verbs {
		c.check(verb == http.MethodGet || verb == http.MethodPost,
			"a fetch with the method %s: must be GET or POST", verb)
	}
	c.fetchedID("", fetch.GetPlatformOrderId())
}

// fetchedID checks the id of an order that is fetched later.
func (c *validation) fetchedID(path, id string) {
	c.check(len(id) <= maxFetchedID && !strings.ContainsRune(id, 0),
		"%splatform_order_id: must have at most %d bytes, none of them zero", path, maxFetchedID)
}

// CheckFetched returns an error if the translation of a fetched response is another fetch, or has a reply.
func CheckFetched(t *Translation) error {
	c := &validation{}
	c.check(t.GetFetch() == nil, "it is a fetch, after a fetch")
	c.check(t.GetReply() == nil, "it has a reply, but the request was already answered")
	return c.err()
}

// maxFetchedID bounds the order id of a fetch, in bytes.
const maxFetchedID = 255

// decimals are the fields of an order, at any depth, that are strings with a decimal number.
var decimals = []string{
	"price", "value", "rate", "amount", "latitude", "longitude",
	"order_subtotal", "total_charges", "total_taxes", "discount", "order_total", "payable_amount",
}

// IsDecimal reports whether a field of an order is a string with a decimal number.
func IsDecimal(member string) bool { return slices.Contains(decimals, member) }

// jsonNumber matches a JSON number.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// maxQuantity is the maximum quantity of an item or option of an order.
const maxQuantity = 100_000

// CheckOrder returns an error that lists the missing and invalid fields of an order. Examples are a quantity of 0, a
// decimal number such as 12,50, and a text with a NUL character. A nil order is valid. If the aggregator sends an
// invalid order, the plugin must reject it (Refusef).
func CheckOrder(o *NewOrder) error {
	c := &validation{}
	if o != nil {
		c.order(o)
	}
	return c.err()
}

func (c *validation) order(o *NewOrder) {
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
			// 0 means that the field was not sent, and stands for 1
			at := fmt.Sprintf("items[%d].options[%d]", i, n)
			c.orderedItem(at, option.GetRefId(), option.GetQuantity(), 0)
			c.check(option.Parent == nil || option.GetParent() >= 0 && int(option.GetParent()) < n,
				"%s.parent: %d must be the index of an earlier option", at, option.GetParent())
		}
	}
	c.fields("", o.ProtoReflect())
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
