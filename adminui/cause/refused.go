package cause

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// NotTaken tells that orders were refused, and why the last was.
func NotTaken(n console.NotTaken, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseNotTaken, ui.Count(n.Count, text.OneOrderRejected, text.OrdersRejected_),
			clock(n.At, zone), n.Reason),
		Detail: text.RemedyNotTaken}
}
