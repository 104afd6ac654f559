package menu

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// envelope is the body of a menu request; its arrays are read element by
// element so that each violation can name its object.
type envelope struct {
	Categories   core.Array `json:"categories"`
	Items        core.Array `json:"items"`
	OptionGroups core.Array `json:"option_groups"`
	Options      core.Array `json:"options"`
	Taxes        core.Array `json:"taxes"`
	Charges      core.Array `json:"charges"`

	FlushCategories   bool `json:"flush_categories"`
	FlushItems        bool `json:"flush_items"`
	FlushOptionGroups bool `json:"flush_option_groups"`
	FlushOptions      bool `json:"flush_options"`
	FlushTaxes        bool `json:"flush_taxes"`
	FlushCharges      bool `json:"flush_charges"`

	ConfirmFlush bool    `json:"confirm_flush"`
	CallbackURL  *string `json:"callback_url"`
}

// Decode reads the body of a menu request and checks all that can be checked
// without stored state. Any violation refuses the whole request with an Invalid
// error that names the object and the field (contract, Answers and Menu).
func Decode(body []byte, scope Scope, rules Rules) (Request, error) {
	root := newEnvelope()
	if err := core.DecodeJSON(body, root); err != nil {
		return Request{}, err
	}
	request := Request{
		Scope: scope, ConfirmFlush: root.ConfirmFlush, FlushGuard: rules.FlushGuard,
		Flush: PerKind[bool]{
			root.FlushCategories, root.FlushItems, root.FlushOptionGroups,
			root.FlushOptions, root.FlushTaxes, root.FlushCharges,
		},
	}
	var v core.Violations
	if root.CallbackURL != nil {
		request.CallbackURL = *root.CallbackURL
		if wrong := core.CheckURL(request.CallbackURL); wrong != "" {
			v.AddBody("callback_url", "url", wrong)
		}
	}
	if !root.checkArrays(request.Flush, &v) {
		return Request{}, v.Err()
	}
	request.Categories = decodeArray[CategoryObject](Categories, root.Categories.Of(body), &rules, &v)
	request.Items = decodeArray[ItemObject](Items, root.Items.Of(body), &rules, &v)
	request.OptionGroups = decodeArray[OptionGroupObject](OptionGroups, root.OptionGroups.Of(body), &rules, &v)
	request.Options = decodeArray[OptionObject](Options, root.Options.Of(body), &rules, &v)
	request.Taxes = decodeArray[TaxObject](Taxes, root.Taxes.Of(body), &rules, &v)
	request.Charges = decodeArray[ChargeObject](Charges, root.Charges.Of(body), &rules, &v)
	if err := v.Err(); err != nil {
		return Request{}, err
	}
	return request, nil
}

// Excess returns the Invalid error of a body that is not JSON or has an array of too
// many objects. It needs no memory, and so may look at a body that is too large to decode.
func Excess(body []byte) error {
	root := newEnvelope()
	if err := core.DecodeJSON(body, root, jsontext.AllowDuplicateNames(true)); err != nil {
		return err
	}
	var v core.Violations
	root.checkLengths(&v)
	return v.Err()
}

func newEnvelope() *envelope {
	var e envelope
	for kind, array := range e.arrays() {
		array.Limit = limits[kind]
	}
	return &e
}

// limits are how many objects each array may hold.
var limits = PerKind[int]{maxOthers, MaxItems, maxOthers, MaxOptions, maxOthers, maxOthers}

func (e *envelope) arrays() PerKind[*core.Array] {
	return PerKind[*core.Array]{&e.Categories, &e.Items, &e.OptionGroups, &e.Options, &e.Taxes, &e.Charges}
}

// checkArrays checks which arrays are there and how long they are. It is false
// when reading their elements would be of no use.
func (e *envelope) checkArrays(flush PerKind[bool], v *core.Violations) bool {
	present := false
	for kind, array := range e.arrays() {
		name := Kind(kind).String()
		present = present || array.Sent
		if flush[kind] && !array.Sent {
			v.AddBody("flush_"+name, "required", "needs the array "+name+" in the same body")
		}
	}
	readable := e.checkLengths(v)
	if !present {
		v.AddBody("", "required",
			"at least one of the arrays categories, items, option_groups, options, taxes and charges is required")
	}
	return present && readable
}

// checkLengths checks how long the arrays are.
func (e *envelope) checkLengths(v *core.Violations) (readable bool) {
	readable = true
	for kind, array := range e.arrays() {
		if array.Count > array.Limit {
			v.AddBody(Kind(kind).String(), "limit", fmt.Sprintf("must hold at most %d objects; %d were sent", array.Limit, array.Count))
			readable = false
		}
	}
	return readable
}

// object is what the six submitted types have in common.
type object[T any] interface {
	*T
	refID() *string   // nil where the kind goes by something else, or none was sent
	identity() string // what may occur once in an array; "" when it is not complete
	check(c *checker)
}

func decodeArray[T any, P object[T]](kind Kind, raws []jsontext.Value, rules *Rules, v *core.Violations) []Submitted[T] {
	if raws == nil {
		return nil
	}
	array := make([]Submitted[T], len(raws))
	seen := make(map[string]int, len(raws))
	c := &checker{v: v, rules: rules}
	failures := core.DecodeObjects(raws, func(i int) any { return &array[i].Object })
	for i, raw := range raws {
		c.at = core.Object{Array: kind.String(), Index: i}
		array[i].Raw = raw
		o := P(&array[i].Object)
		if failures[i] != nil {
			v.AddFailure(c.at, raw, failures[i])
			continue
		}
		if refID := o.refID(); refID != nil {
			c.at.RefID = *refID
		}
		o.check(c)
		identity := o.identity()
		if first, twice := seen[identity]; twice && identity != "" {
			c.duplicate(kind, first)
			continue
		}
		seen[identity] = i
	}
	return array
}

// duplicate records that the object at hand is the same as an earlier one.
func (c *checker) duplicate(kind Kind, first int) {
	switch kind {
	case Taxes:
		c.fail("code", "duplicate", fmt.Sprintf("and structure.value are the same as in taxes[%d]", first))
	case Charges:
		c.fail("code", "duplicate", fmt.Sprintf("and structure are the same as in charges[%d]", first))
	default:
		c.fail("ref_id", "duplicate", fmt.Sprintf("is the same as in %s[%d]", kind, first))
	}
}
