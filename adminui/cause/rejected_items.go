package cause

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core/order"
)

// maxNamedItems limits how many items a sentence names.
const maxNamedItems = 10

// OrderTitles returns the titles of the items and options of an order, by ref_id.
func OrderTitles(items []order.Item) map[string]string {
	titles := map[string]string{}
	for _, item := range items {
		titles[item.RefID] = item.Title
		for _, option := range item.Options {
			titles[option.RefID] = cmp.Or(titles[option.RefID], option.Title)
		}
	}
	return titles
}

// StepItems says which items of the order a cancellation names as its reason, or returns "" if it names none.
func StepItems(s order.Step, titles map[string]string) string {
	var reasons []string
	for _, list := range []struct {
		items []order.ItemRef
		words string
	}{{s.OutOfStock, text.ItemOutOfStock}, {s.Invalid, text.ItemInvalid}} {
		for _, ref := range order.RefIDs(list.items) {
			reasons = append(reasons, fmt.Sprintf(list.words, cmp.Or(titles[ref], ref)))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	if more := len(reasons) - maxNamedItems; more > 0 {
		reasons = append(reasons[:maxNamedItems], fmt.Sprintf(text.ItemsMore, more))
	}
	return fmt.Sprintf(text.RejectedItems, strings.Join(reasons, ", "))
}
