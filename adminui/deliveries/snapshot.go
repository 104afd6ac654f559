package deliveries

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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
}

// NewSnapshot returns the snapshot of this moment, to be counted.
func NewSnapshot(v *shell.PageContext) Snapshot {
	// ids have millisecond resolution; include the current one
	return Snapshot{At: v.Now.Add(time.Millisecond).Truncate(time.Millisecond)}
}

// CountFor counts the deliveries of a selector.
func (s *Snapshot) CountFor(ctx context.Context, reader Reader, business core.BusinessID,
	selector webhook.Selector) (err error) {
	if selector.State != webhook.Pending {
		s.Count, s.More, err = reader.CountUpTo(ctx, business, selector)
	}
	if err == nil && s.Count == 0 { // of those that were read
		s.More = false
		s.Count, err = reader.Count(ctx, business, selector)
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

// Button returns the button that resends the deliveries. help is a format for their number.
func (s Snapshot) Button(v *shell.PageContext, action, help string) ui.Button {
	counted := ui.Count(s.Count, text.OneDelivery, text.Deliveries_)
	if s.More {
		counted = fmt.Sprintf(text.Deliveries_, s.Number())
	}
	return ui.Button{Label: fmt.Sprintf(text.BulkResendDo, counted), Action: action, Token: v.Token(),
		ReasonLabel: text.Why, Help: fmt.Sprintf(help, counted),
		Hidden: []ui.Option{{Label: "at", Value: fmt.Sprint(s.At.UnixMilli())},
			{Label: "count", Value: fmt.Sprint(s.Count)}, {Label: "more", Value: fmt.Sprint(s.More)}}}
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

// Changed says that the selection now has another count, or returns "" if all of it can be resent.
func (s Snapshot) Changed(count int) string {
	if count > 0 && (count == s.Count || s.More && count > s.Count) {
		return ""
	}
	return fmt.Sprintf(text.BulkResendChanged, s.Number(), ui.Number(count))
}

// ShowChanged adds to a page what Changed said, and to its button the submitted reason. The response is a conflict,
// unless it said nothing.
func ShowChanged(c *fiber.Ctx, head *shell.Head, button *ui.Button, changed string) {
	if changed != "" {
		c.Status(http.StatusConflict)
		button.Reason = shell.Field(c, "why")
		head.Causes = []ui.Cause{{State: ui.Warn, Text: changed}}
	}
}
