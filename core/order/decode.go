package order

import (
	"fmt"

	"github.com/servery-hub/servery/core"
)

// Decode decodes the body of an order and checks everything that needs no stored state. Any violation rejects it with
// an Invalid error that names the path.
func Decode(body []byte) (Draft, error) {
	root := struct {
		Draft
		Customer core.ObjectOrEmptyArray[sentCustomer] `json:"customer"`
		Items    core.Array                            `json:"items"`
	}{Items: core.Array{Limit: MaxItems}}
	if err := core.DecodeJSON(body, &root); err != nil {
		return Draft{}, err
	}
	var v core.Violations
	draft := root.Draft
	draft.Customer = root.Customer.Value.customer()
	if draft.Kind == "" {
		draft.Kind = ForDelivery
	}
	check(&draft, &v)
	switch {
	case root.Items.Count == 0:
		v.AddBody("items", "required", "must have at least one item")
	case root.Items.Count > MaxItems:
		v.AddBody("items", "limit", fmt.Sprintf("must have at most %d items, not %d", MaxItems, root.Items.Count))
		return Draft{}, v.Err()
	}
	items := root.Items.Elements(body)
	draft.Items = make([]Line, len(items))
	failures := core.DecodeObjects(items, func(i int) any { return &draft.Items[i] })
	for i, raw := range items {
		at := core.Object{Array: "items", Index: i}
		if failures[i] != nil {
			v.AddFailure(at, raw, failures[i])
			continue
		}
		at.RefID = string(draft.Items[i].RefID)
		checkLine(&draft.Items[i], fieldPath{at, &v, ""})
	}
	if err := v.Err(); err != nil {
		return Draft{}, err
	}
	return draft, nil
}

// sentCustomer is a customer whose address may be [] for an empty one.
type sentCustomer struct {
	Name    string                            `json:"name"`
	Email   string                            `json:"email"`
	Phone   string                            `json:"phone"`
	Address core.ObjectOrEmptyArray[*Address] `json:"address"`
}

func (c sentCustomer) customer() Customer { return Customer{c.Name, c.Email, c.Phone, c.Address.Value} }
