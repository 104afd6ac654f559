package deliveries

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Snapshot is a selection of deliveries that a page shows before it resends them.
type Snapshot struct {
	At    time.Time // they ended by then
	Count int
	More  bool // Count is a lower bound: counting all takes too long for a page
	Final int  // of these, order_placed events of orders in a final state, which are left out unless a box is ticked
}

// finalBox is the name of the box.
const finalBox = "final_orders"

// NewSnapshot returns the snapshot of this moment, to be counted.
func NewSnapshot(v *shell.PageContext) Snapshot {
	// ids have millisecond resolution; include the current one
	return Snapshot{At: v.Now.Add(time.Millisecond).Truncate(time.Millisecond)}
}

// CountFor counts the deliveries of a selector, and those of orders in a final state.
func (s *Snapshot) CountFor(ctx context.Context, reader Reader, business core.BusinessID,
	selector webhook.Selector) (err error) {
	if selector.State != webhook.Pending {
		s.Count, s.More, err = reader.CountUpTo(ctx, business, selector)
	}
	if err == nil && s.Count == 0 { // of those that were read
		s.More = false
		s.Count, err = reader.Count(ctx, business, selector)
	}
	if err != nil || s.Count == 0 {
		return err
	}
	selector.FinalOrders = webhook.OnlyFinalOrders
	if s.More {
		s.Final, _, err = reader.CountUpTo(ctx, business, selector)
	} else {
		s.Final, err = reader.Count(ctx, business, selector)
	}
	return err
}

// Number formats the count.
func (s Snapshot) Number() string {
	if s.More {
		return fmt.Sprintf(text.AtLeast, ui.Number(s.Count))
	}
	return ui.Number(s.Count)
}

// deliveries formats n of the counted deliveries.
func (s Snapshot) deliveries(n int) string {
	if s.More {
		return fmt.Sprintf(text.Deliveries_, fmt.Sprintf(text.AtLeast, ui.Number(n)))
	}
	return ui.Count(n, text.OneDelivery, text.Deliveries_)
}

// Button returns the button that resends the deliveries. help is a format for their number.
func (s Snapshot) Button(v *shell.PageContext, action, help string) ui.Button {
	rest := s.deliveries(s.Count - s.Final)
	button := ui.Button{Label: fmt.Sprintf(text.BulkResendDo, rest), Action: action, Token: v.Token(),
		ReasonLabel: text.Why, Help: fmt.Sprintf(help, rest),
		Hidden: []ui.Option{{Label: "at", Value: fmt.Sprint(s.At.UnixMilli())},
			{Label: "count", Value: fmt.Sprint(s.Count)}, {Label: "more", Value: fmt.Sprint(s.More)}}}
	if s.Final == 0 {
		return button
	}
	if s.Final == s.Count {
		button.Label, button.Help = text.Retry, ""
	}
	number := ui.Number(s.Final)
	if s.More {
		number = fmt.Sprintf(text.AtLeast, number)
	}
	button.Help = strings.TrimSpace(button.Help + " " + fmt.Sprintf(text.FinalLeftOut, number, s.deliveries(s.Count)))
	button.Fields = []ui.Filter{{Name: finalBox, Label: fmt.Sprintf(text.FinalAlso, number), Box: true}}
	return button
}

// ReadSnapshot reads the snapshot of a submitted button.
func ReadSnapshot(c *fiber.Ctx) (Snapshot, error) {
	at, err := strconv.ParseInt(shell.Field(c, "at"), 10, 64)
	count, countErr := strconv.Atoi(shell.Field(c, "count"))
	if err != nil || countErr != nil {
		return Snapshot{}, core.Errorf(core.Invalid, text.FormOld)
	}
	return Snapshot{At: time.UnixMilli(at).UTC(), Count: count, More: shell.Field(c, "more") == "true"}, nil
}

// Confirmed is what a submitted form resends.
type Confirmed struct {
	Selector webhook.Selector
	Count    int
	Changed  string // why nothing is resent; ""
	final    int
}

// Confirm counts the selection of a submitted form again. It leaves out order_placed events of orders in a final state,
// unless the box is ticked.
func (s Snapshot) Confirm(c *fiber.Ctx, reader Reader, business core.BusinessID,
	selector webhook.Selector) (Confirmed, error) {
	count, err := reader.Count(c.UserContext(), business, selector)
	if err != nil {
		return Confirmed{}, err
	}
	confirmed := Confirmed{Selector: selector, Count: count, Changed: s.changed(count)}
	selector.FinalOrders = webhook.OnlyFinalOrders
	if confirmed.final, err = reader.Count(c.UserContext(), business, selector); err != nil {
		return Confirmed{}, err
	}
	if shell.Field(c, finalBox) == "" {
		confirmed.Selector.FinalOrders = webhook.WithoutFinalOrders
		confirmed.Count = max(count-confirmed.final, 0)
	}
	if confirmed.Changed == "" && confirmed.Count == 0 {
		confirmed.Changed = text.FinalOnly
	}
	return confirmed, nil
}

// Audit returns the entries of the audit record, with those given.
func (c Confirmed) Audit(more map[string]any) map[string]any {
	more["count"] = c.Count
	addFinal(more, c.final, c.Selector.FinalOrders == webhook.WithFinalOrders)
	return more
}

// addFinal adds to an audit record how many deliveries of orders in a final state were left out, or included.
func addFinal(record map[string]any, final int, included bool) {
	switch {
	case final > 0 && included:
		record["final_orders_included"] = final
	case final > 0:
		record["final_orders_left_out"] = final
	}
}

// changed says that the selection now has another count, or returns "" if all of it can be resent.
func (s Snapshot) changed(count int) string {
	if count > 0 && (count == s.Count || s.More && count > s.Count) {
		return ""
	}
	return fmt.Sprintf(text.BulkResendChanged, s.Number(), ui.Number(count))
}

// ShowChanged adds to a page what Confirmed.Changed says, and to its button the submitted values. The response is a
// conflict, unless that is "".
func ShowChanged(c *fiber.Ctx, head *shell.Head, button *ui.Button, changed string) {
	if changed != "" {
		c.Status(http.StatusConflict)
		button.Reason = shell.Field(c, "why")
		for i, f := range button.Fields {
			button.Fields[i].Value = shell.Field(c, f.Name)
		}
		head.Causes = []ui.Cause{{State: ui.Warn, Text: changed}}
	}
}
