package sdk

import "strings"

// NestedLeftOut returns an error for each option with nested option groups, for an aggregator that does not support
// them.
func NestedLeftOut(menu *Menu) (list []*PublishError) {
	for _, option := range menu.GetOptions() {
		if nested := option.GetNestedOptGrps(); len(nested) > 0 {
			list = append(list, &PublishError{Entity: "option", RefId: option.GetRefId(), Code: "nested_option_groups",
				Message: "the aggregator has no option groups underneath options; left out underneath this one: " +
					strings.Join(nested, ", ")})
		}
	}
	return list
}
