package cause

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// RefusedOrders reports rejected orders and the reason of the last.
func RefusedOrders(n console.RejectedOrders, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseRejectedOrders, ui.Count(n.Count, text.OneOrderRejected, text.OrdersRejected_),
			formatTime(n.At, zone), n.Reason),
		Detail: text.RemedyRejectedOrders}
}
