package text

// Texts of notices: causes that block requests and events.
const (
	CauseUnrouted    = "No webhook receives %s events. Not sent: %s, the last %s."
	CauseUnroutedOff = "Webhook %[4]d for %[1]s events is paused. Not sent: %[2]s, the last %[3]s."
	CauseUnrouted410 = "Webhook %[4]d for %[1]s events is disabled, because the server responded with 410 (Gone). " +
		"Not sent: %[2]s, the last %[3]s."
	OneEvent       = "1 event"
	Events_        = "%s events"
	RemedyUnrouted = "If the POS needs them, it must subscribe with POST /external/api/v1/webhooks/. It then " +
		"receives new events only."
	RemedyUnroutedOff = "Resume it to send new events. Missed events are not sent later."
	CauseThrottled    = "The POS sends too many requests. The hub rejects requests over the limit %s until %s."
	CauseThrottledAt  = "The POS sent too many requests. The hub rejected requests over the limit %s until %s."
	RemedyThrottled   = "The POS must send fewer requests, or more objects in each. The hub setting SERVERY_LIMIT_%s " +
		"has the limit."
	RemedySubscribing = "One subscription at a time takes some minutes. A POS that waits as Retry-After says loses " +
		"nothing. POST /external/api/v1/webhooks/bulk/ subscribes to all events at once."
	CauseWaiting  = "The POS has not acknowledged %s in time. Waiting since %s."
	RemedyWaiting = "Check that the POS runs and that the staff sees new orders."
	CauseSilent   = "No contact with the POS of %s. Store %s has had none since %s."
	OneOpenStore  = "1 open store"
	OpenStores_   = "%s open stores"
	RemedySilent  = "Check that the POS runs there and is online. The page Webhooks shows whether it receives events."
	CauseRevoked  = "Requests still use the revoked API key %q (%s…), the last %s. The hub rejects them."
	RemedyRevoked = "Create a new key for the system that sends them."
	ActSeeKeys    = "View API keys"
	ActSeeOrders  = "View orders"
	ActSeeStore   = "View store"
	LastUsed      = "Last used"
	KeyPlatform   = "Platform, for a channel key of one platform only"
	NeverUsed     = "no use recorded"
)

// Texts of jobs with failed objects.
const (
	CauseFailureWeek  = "%[3]s had failed entries, on %[1]d of the last %[2]d days."
	RemedyFailureWeek = "A job applies a request. View it to see the failed entries with the reasons. Ask the " +
		"developer of the POS to correct them."
	OneJob = "1 job"
	Jobs_  = "%s jobs"
)
