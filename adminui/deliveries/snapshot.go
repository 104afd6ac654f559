package deliveries

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// Snapshot is a selection of deliveries that a page shows before it resends them.
type Snapshot struct {
	At    time.Time // they ended by then
	Count int
}

// NewSnapshot returns the snapshot of this moment, to be counted.
func NewSnapshot(v *shell.PageContext) Snapshot {
	// ids have millisecond resolution; include the current one
	return Snapshot{At: v.Now.Add(time.Millisecond).Truncate(time.Millisecond)}
}

// Button returns the button that resends the deliveries. help is a format for their number.
func (s Snapshot) Button(v *shell.PageContext, action, help string) ui.Button {
	counted := ui.Count(s.Count, text.OneDelivery, text.Deliveries_)
	return ui.Button{Label: fmt.Sprintf(text.BulkResendDo, counted), Action: action, Token: v.Token(),
		ReasonLabel: text.Why, Help: fmt.Sprintf(help, counted),
		Hidden: []ui.Option{{Label: "at", Value: fmt.Sprint(s.At.UnixMilli())},
			{Label: "count", Value: fmt.Sprint(s.Count)}}}
}

// ReadSnapshot reads the snapshot of a submitted button.
func ReadSnapshot(c *fiber.Ctx) (Snapshot, error) {
	at, err := strconv.ParseInt(shell.Field(c, "at"), 10, 64)
	count, countErr := strconv.Atoi(shell.Field(c, "count"))
	if err != nil || countErr != nil {
		return Snapshot{}, core.Errorf(core.Invalid, text.FormOld)
	}
	return Snapshot{At: time.UnixMilli(at).UTC(), Count: count}, nil
}

// Changed says that the selection now has another count, or returns "" if all of it can be resent.
func (s Snapshot) Changed(count int) string {
	if count == s.Count && count > 0 {
		return ""
	}
	return fmt.Sprintf(text.BulkResendChanged, ui.Number(s.Count), ui.Number(count))
}

// ShowChanged adds to a page what Changed said. The response is a conflict, unless it said nothing.
func ShowChanged(c *fiber.Ctx, head *shell.Head, changed string) {
	if changed != "" {
		c.Status(http.StatusConflict)
		head.Causes = []ui.Cause{{State: ui.Warn, Text: changed}}
	}
}
