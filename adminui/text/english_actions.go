package text

// Words of what people do.
const (
	AgainMany    = "Send many again"
	AgainTitle   = "Send again what the filter chooses"
	AgainCount   = "Deliveries"
	AgainCounted = "Counted"
	AgainNone    = "The filter chooses no delivery that has come to its end, so there is nothing to send again."
	AgainSay     = "Those that are counted here are sent again, and no others: %s. What somebody else sends " +
		"again meanwhile, or whose webhook is switched off, is left out; the job tells how many those were."
	AgainChanged = "It changed while you looked: %s were counted, now there are %s. Nothing was done. Look at " +
		"the count below and decide again."
	AgainDo     = "Send %s again"
	SendTest    = "Send a test"
	SendTestSay = "A sample of the event goes to this webhook alone, signed and tried again as every " +
		"delivery, with the header X-Event-Test: true."
	TestSent        = "The sample is on its way. What the receiver answers shows here in a moment."
	RotateSecret    = "New secret"
	RotateSecretSay = "The new signing secret is shown once. For a while the present one signs every delivery " +
		"too, so that the receiver can be changed without a break."
	RotateSecretTwice = "A rotation is under way: an earlier secret signs until %s. Rotate again only where the " +
		"new one got lost."
	RotatedAlready = "Somebody else has given the webhook a new secret just now, so nothing was done. Load the " +
		"page again to see how it is."
	NewSecret     = "The new signing secret, shown this once"
	NewSecretText = "Copy it now and give it to the receiver: it is not shown again. Until %s the earlier " +
		"secret signs every delivery too."
	SigningSecret  = "Signing secret"
	OldSecretUntil = "Earlier secret signs until"
	RunAgain       = "Run again"
	RunAgainSay    = "The same request is accepted once more, as a new job behind those that wait. Values that " +
		"were changed since are overwritten by it."
	RunAgainOf         = "Runs again"
	RunAgainAs         = "Run again as"
	RanAgain           = "The request is accepted once more. This is its new job."
	WhyMissing         = "Say why, in a few words: the audit trail keeps it. Nothing was done."
	Kind_timing_groups = "Timing groups"
	Kind_recheck       = "Checking a menu"
	Kind_redelivery    = "Sending again"
	CauseJobResent     = "Sent again: %s."
	CauseJobResentBut  = "Sent again: %s. Left out, because they had changed meanwhile or their webhook is switched " +
		"off: %s."
	CauseProbed = "It is probed by single attempts every %s; the others are held until it answers."
	AgainQueued = "They are being sent again. This job tells how far it is."
)
