package orders

import (
	"context"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// addRevisions adds to the timeline how the platform changed the order.
func addRevisions(line *timeline.Timeline, list []console.OrderRevision, currency string) {
	for _, r := range list {
		words := fmt.Sprintf(text.MovedBy, cause.ActorName(r.Actor))
		if r.Reason != "" {
			words += " " + fmt.Sprintf(text.CauseMessage, strings.TrimSuffix(r.Reason, "."))
		}
		entry := timeline.Entry{State: ui.Run, Title: text.OrderChanged, Words: words,
			Note: changesText(r.Changes, currency)}
		if r.Note != "" {
			entry.State, entry.Title, entry.Note = ui.Warn, text.OrderChangeRefused, r.Note
		}
		line.Add(r.At, entry)
	}
}

// lineChanges are the texts of changed lines: formats for the title and both quantities.
var lineChanges = map[string]string{order.LineAdded: text.LineAdded, order.LineRemoved: text.LineRemoved,
	order.LineQuantity: text.LineQuantity, order.LineDetails: text.LineDetails}

// amountNames are the labels of changed totals.
var amountNames = map[string]string{"order_subtotal": text.ReceiptSubtotal, "discount": text.ReceiptDiscount,
	"total_charges": text.ReceiptCharge, "total_taxes": text.ReceiptTax, "order_total": text.ReceiptTotal,
	"payable_amount": text.Payable}

func changesText(summary order.UpdateSummary, currency string) string {
	var list []string
	for _, c := range summary.Items {
		list = append(list, fmt.Sprintf(lineChanges[c.Change], c.Title, ui.Number(c.Previous), ui.Number(c.Quantity)))
	}
	for _, a := range summary.Amounts {
		list = append(list, fmt.Sprintf(text.AmountChanged, amountNames[a.Name],
			ui.Price(a.Previous.String(), currency), ui.Price(a.Value.String(), currency)))
	}
	return strings.Join(list, "; ")
}

// revisionBodies returns the contents that an order had before its last change.
func (p Pages) revisionBodies(ctx context.Context, v *shell.PageContext, id int64) (list []compare.Body, err error) {
	revisions, err := p.Timeline.OrderRevisions(ctx, v.Business.ID, id)
	if err != nil || len(revisions) == 0 {
		return nil, err
	}
	placed, err := p.Timeline.PlacedOrder(ctx, v.Business.ID, id)
	if err != nil {
		return nil, err
	}
	list = append(list, compare.Static("placed", text.OrderAsPlaced, placed))
	for i, r := range revisions {
		if r.Body != nil {
			list = append(list, compare.Static(fmt.Sprintf("change-%d", i+1),
				fmt.Sprintf(text.OrderAfterChange, r.ChangeID), r.Body))
		}
	}
	return list, nil
}
