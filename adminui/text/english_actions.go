package text

// Texts of actions.
const (
	BulkResend        = "Bulk resend"
	BulkResendTitle   = "Resend all that match the filter"
	BulkResendCount   = "Deliveries"
	BulkResendCounted = "Counted at"
	BulkResendNone    = "No delivered or failed delivery matches the filter, so there is nothing to resend."
	BulkResendHelp    = "This resends %s and no others. A delivery is skipped if another user resends it first, or " +
		"if its webhook is paused. The job shows how many were skipped."
	BulkResendChanged = "Nothing was resent, because the number of deliveries changed from %s to %s. Check the new " +
		"number and confirm again."
	BulkResendDo = "Resend %s"
	SendTest     = "Send test event"
	SendTestSay  = "This sends a sample event to this webhook only. Its header X-Event-Test: true marks it as " +
		"a test. A POS that ignores this header shows it like a real event. It is signed and retried like every " +
		"delivery."
	TestEvent       = "Test event"
	TestSent        = "The test event is being sent. The response appears here in a moment."
	RotateSecret    = "Rotate secret"
	RotateSecretSay = "The server of the POS uses this secret to check that the hub has sent an event " +
		"(signature). The new secret is shown once: give it to the developer of the POS. The previous one stays " +
		"valid for some time, which the next page shows."
	RotateSecretTwice = "A rotation is in progress: the previous secret still signs until %s. Rotate again only if " +
		"the new secret was lost."
	RotatedAlready = "Another user has just rotated this secret, so nothing was done. Reload the page."
	NewSecret      = "The new signing secret, shown this once"
	NewSecretText  = "Copy it now and configure it at the receiver: it is not shown again. Until %s the previous " +
		"secret signs each delivery too."
	SigningSecret  = "Signing secret"
	OldSecretUntil = "Previous signing secret valid until"
	RunAgain       = "Run again"
	RunAgainSay    = "This submits the same request as a new job, after the jobs in the queue. It overwrites every " +
		"later change of the same values."
	RunAgainOf         = "Repeats the job"
	RunAgainAs         = "Repeated by the job"
	RanAgain           = "The request was submitted again. This is its new job."
	WhyMissing         = "Nothing was done. Enter a short reason: the audit trail records it."
	Kind_timing_groups = "Timing groups"
	Kind_recheck       = "Menu check"
	Kind_redelivery    = "Bulk resend"
	CauseJobResent     = "Resent: %s."
	CauseJobResentBut  = "Resent: %s. Skipped, because they changed or their webhook is paused: %s."
	CauseProbed        = "Every %s the hub tests the server with one of them."
	BulkResendQueued   = "The deliveries are being resent. This job shows the progress."

	FinalLeftOut = "Left out: %s of %s. These are order_placed events of Cancelled or Completed orders. They say " +
		"that the order is Placed, and a kitchen may prepare it."
	SelectedHelp  = "This resends %s."
	FinalAlso     = "Resend those of Cancelled or Completed orders too: %s"
	FinalOnly     = "Nothing was resent, because all orders are Cancelled or Completed. Tick the box to resend them."
	FinalChanged  = "Nothing was resent, because more orders are Cancelled or Completed now. Confirm again."
	FinalOmitted  = "Left out, because their orders are Cancelled or Completed: %s."
	FinalIncluded = "Of Cancelled or Completed orders: %s."
	RetriedRest   = "Resent, without the order_placed events of Cancelled or Completed orders. The result appears " +
		"here in a moment."
)
