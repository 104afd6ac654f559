package text

// Words of what keeps requests and events from coming through.
const (
	CauseUnheard    = "Events of %s that nobody was told of: %s, the last at %s. No webhook is subscribed to them."
	CauseUnheardOff = "Events of %s that nobody was told of: %s, the last at %s. The webhook for them (%d) is " +
		"switched off."
	RemedyUnheard = "The POS subscribes at POST /external/api/v1/webhooks/. Events that nobody was told of are " +
		"not sent later."
	CauseThrottled   = "Too many requests: those under the throttle %s are answered 429 until %s."
	CauseThrottledAt = "Too many requests: those under the throttle %s were answered 429 until %s."
	RemedyUnheardOff = "Resume it: what happens from then on is sent. Events that nobody was told of are not sent " +
		"later."
	RemedyThrottled = "The POS has to send less often, or more objects with each request. The limit is " +
		"SERVERY_LIMIT_%s of the hub."
	RemedySubscribing = "Subscribing to every event by itself takes some minutes. A POS that waits as Retry-After " +
		"says goes on by itself, and nothing is lost. POST /external/api/v1/webhooks/bulk/ takes them in one request."
	CauseWaiting = "Orders that wait too long for their acknowledgement: %s, the longest since %s."
	CauseSilent  = "Open stores whose POS says nothing: %s. Nothing was heard of %s since %s."
	RemedySilent = "See whether the POS runs there, and whether its webhooks accept what they are sent."
	CauseRevoked = "The key %s (%s…) was revoked, and requests still come with it, the last at %s: they are " +
		"answered 403."
	RemedyRevoked = "Whoever sends them needs another key."
	ActSeeKeys    = "Look at the keys"
	ActSeeOrders  = "See the orders"
	ActSeeStore   = "Go to the store"
	LastUsed      = "Last used"
	KeyPlatform   = "Of a channel key: the platform alone that it brings orders of"
	NeverUsed     = "not since it is noted"
)

// Words of jobs with failed objects.
const (
	CauseRefusedWeek  = "On %d of the last %d days, jobs had failed objects: %s."
	RemedyRefusedWeek = "The page of each job names its failed objects and the reasons. Tell the merchant's " +
		"integrator, who corrects them in the POS."
	OneJob = "1 job"
	Jobs_  = "%s jobs"
)
