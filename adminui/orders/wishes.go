package orders

import (
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/order"
)

// wishes returns the short number of an order and what the customer wants, as far as the platform sent them.
func wishes(v *shell.PageContext, d order.Details) (list []ui.Fact) {
	if d.DisplayID != "" {
		list = append(list, ui.Fact{Label: text.DisplayID, Cell: ui.CodeCell(d.DisplayID)})
	}
	if d.DeliverAt != nil {
		list = append(list, ui.Fact{Label: text.DeliverAt, Cell: ui.TimeCell(v.At(time.UnixMilli(*d.DeliverAt)))})
	}
	if d.PrepareFor != nil {
		list = append(list, ui.Fact{Label: text.PrepareFor, Cell: ui.TimeCell(v.At(time.UnixMilli(*d.PrepareFor)))})
	}
	if d.Cutlery != nil {
		wish := text.CutleryNo
		if *d.Cutlery {
			wish = text.CutleryYes
		}
		list = append(list, ui.Fact{Label: text.Cutlery, Cell: ui.T(wish)})
	}
	return list
}
