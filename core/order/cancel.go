package order

import "github.com/servery-hub/servery/core"

// Cancellation is an order that its platform cancels. It may arrive before its order, and more than once.
type Cancellation struct {
	Platform        string
	PlatformOrderID string
	Reason          string // for people
}

// Check returns an Invalid error for a cancellation without an order id. It truncates a reason that is too long.
func (c *Cancellation) Check() error {
	var v core.Violations
	fieldPath{v: &v}.required("platform_order_id", c.PlatformOrderID, maxName)
	c.Reason = sanitize(c.Reason, maxText)
	return v.Err()
}

// Change returns the state change that the cancellation requests.
func (c Cancellation) Change() Change {
	return Change{To: Cancelled, Message: c.Reason, Actor: "platform:" + c.Platform, Platform: c.Platform,
		ByChannel: true}
}
