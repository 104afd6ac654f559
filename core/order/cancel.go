package order

import "github.com/servery-hub/servery/core"

// Cancellation is an order that its platform takes back. It may come before its
// order, and more than once.
type Cancellation struct {
	Platform        string
	PlatformOrderID string
	Reason          string // for people
}

// Check refuses a cancellation that names no order with an Invalid error, and cuts
// a reason that is too long.
func (c *Cancellation) Check() error {
	var v core.Violations
	spot{v: &v}.required("platform_order_id", c.PlatformOrderID, maxName)
	c.Reason = legible(c.Reason, maxText)
	return v.Err()
}

// Change is what it asks of its order.
func (c Cancellation) Change() Change {
	return Change{To: Cancelled, Message: c.Reason, Actor: "platform:" + c.Platform, Platform: c.Platform}
}
