package menu

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// envelope is the body of a menu request. Its arrays are decoded element by element so that each violation can name its
// object.
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

	ConfirmFlush bool   `json:"confirm_flush"`
	CallbackURL  string `json:"callback_url"` // "" counts as not sent
}

// Decode decodes the body of a menu request and checks everything that needs no stored state. Any violation rejects the
// whole request with an Invalid error that names the object and the field.
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
	if root.CallbackURL != "" {
		request.CallbackURL = root.CallbackURL
		if wrong := core.CheckURL(request.CallbackURL); wrong != "" {
			v.AddBody("callback_url", "url", wrong)
		}
	}
	if !root.checkArrays(request.Flush, &v) {
		return Request{}, v.Err()
	}
	c := &checker{v: &v, rules: &rules}
	request.Categories = decodeArray[CategoryObject](Categories, root.Categories.Elements(body), c)
	request.Items = decodeArray[ItemObject](Items, root.Items.Elements(body), c)
	request.OptionGroups = decodeArray[OptionGroupObject](OptionGroups, root.OptionGroups.Elements(body), c)
	request.Options = decodeArray[OptionObject](Options, root.Options.Elements(body), c)
	request.Taxes = decodeArray[TaxObject](Taxes, root.Taxes.Elements(body), c)
	request.Charges = decodeArray[ChargeObject](Charges, root.Charges.Elements(body), c)
	request.Warnings = c.roundedPrices()
	if err := v.Err(); err != nil {
		return Request{}, err
	}
	return request, nil
}

// decodeUnchecked decodes the body of a stored request without checking its objects, to report them as failed. The
// checks can have become stricter since the request was accepted. An object that cannot be decoded has only its raw
// form.
func decodeUnchecked(body []byte, scope Scope) (Request, error) {
	root := newEnvelope()
	if err := core.DecodeJSON(body, root); err != nil {
		return Request{}, err
	}
	return Request{
		Scope:        scope,
		Categories:   decodeUncheckedArray[CategoryObject](root.Categories.Elements(body)),
		Items:        decodeUncheckedArray[ItemObject](root.Items.Elements(body)),
		OptionGroups: decodeUncheckedArray[OptionGroupObject](root.OptionGroups.Elements(body)),
		Options:      decodeUncheckedArray[OptionObject](root.Options.Elements(body)),
		Taxes:        decodeUncheckedArray[TaxObject](root.Taxes.Elements(body)),
		Charges:      decodeUncheckedArray[ChargeObject](root.Charges.Elements(body)),
	}, nil
}

func decodeUncheckedArray[T any](raws []jsontext.Value) []Submitted[T] {
	if raws == nil {
		return nil
	}
	array := make([]Submitted[T], len(raws))
	failures := core.DecodeObjects(raws, func(i int) any { return &array[i].Object })
	for i, raw := range raws {
		array[i].Raw = raw
		_ = new(checker).decodeLenient(raw, &array[i].Object, failures[i])
	}
	return array
}

// CheckLimits returns the Invalid error of a body that is not JSON or has too many objects in an array. It allocates
// little, so it can check a body that is too large to decode.
func CheckLimits(body []byte) error {
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

// limits bounds the objects of each array.
var limits = PerKind[int]{maxOthers, MaxItems, maxOthers, MaxOptions, maxOthers, maxOthers}

func (e *envelope) arrays() PerKind[*core.Array] {
	return PerKind[*core.Array]{&e.Categories, &e.Items, &e.OptionGroups, &e.Options, &e.Taxes, &e.Charges}
}

// checkArrays checks which arrays were sent, and their lengths. It returns false if their elements need not be decoded.
func (e *envelope) checkArrays(flush PerKind[bool], v *core.Violations) bool {
	present := false
	for kind, array := range e.arrays() {
		name := Kind(kind).String()
		present = present || array.Sent
		if flush[kind] && !array.Sent {
			v.AddBody("flush_"+name, "required", "requires the array "+name+" in the same body")
		}
	}
	readable := e.checkLengths(v)
	if !present {
		v.AddBody("", "required",
			"at least one of the arrays categories, items, option_groups, options, taxes and charges is required")
	}
	return present && readable
}

// checkLengths checks the lengths of the arrays.
func (e *envelope) checkLengths(v *core.Violations) (readable bool) {
	readable = true
	for kind, array := range e.arrays() {
		if array.Count > array.Limit {
			v.AddBody(Kind(kind).String(), "limit",
				fmt.Sprintf("must have at most %d objects, not %d", array.Limit, array.Count))
			readable = false
		}
	}
	return readable
}

// object is the common interface of the six submitted types.
type object[T any] interface {
	*T
	refID() *string   // nil if the kind has no ref_id, or none was sent
	identity() string // unique within an array; "" if it is incomplete
	check(c *checker)
}

func decodeArray[T any, P object[T]](kind Kind, raws []jsontext.Value, c *checker) []Submitted[T] {
	if raws == nil {
		return nil
	}
	array := make([]Submitted[T], len(raws))
	seen := make(map[string]int, len(raws))
	failures := core.DecodeObjects(raws, func(i int) any { return &array[i].Object })
	for i, raw := range raws {
		c.at, c.warnings = core.Object{Array: kind.String(), Index: i}, nil
		array[i].Raw = raw
		o := P(&array[i].Object)
		if failure := c.decodeLenient(raw, o, failures[i]); failure != nil {
			c.v.AddFailure(c.at, raw, failure)
			continue
		}
		if refID := o.refID(); refID != nil {
			c.at.RefID = *refID
		}
		o.check(c)
		identity := o.identity()
		if first, twice := seen[identity]; !twice || identity == "" {
			seen[identity] = i
		} else if again, may := any(o).(merger[P]); may {
			again.merge(P(&array[first].Object), first, c)
		} else {
			c.duplicate(kind, first)
		}
		array[i].Warnings = c.warnings
	}
	return array
}

// decodeLenient decodes an object that could not be decoded, if it has other types instead of texts and objects. It
// returns the failure that remains.
func (c *checker) decodeLenient(raw jsontext.Value, into any, failure error) error {
	if failure == nil {
		return nil
	}
	object, replaced := replaceOtherTypes(raw)
	if len(replaced) == 0 {
		return failure
	}
	if failure = core.DecodeObjects([]jsontext.Value{object}, func(int) any { return into })[0]; failure != nil {
		return failure
	}
	for _, r := range replaced {
		c.warn(r.field, r.as)
	}
	return nil
}

// duplicate records that the current object is the same as an earlier one.
func (c *checker) duplicate(kind Kind, first int) {
	switch kind {
	case Charges:
		c.fail("code", "duplicate", fmt.Sprintf("and structure are the same as in charges[%d]", first))
	default:
		c.fail("ref_id", "duplicate", fmt.Sprintf("is the same as in %s[%d]", kind, first))
	}
}
