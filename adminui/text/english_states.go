package text

// Causes, in one sentence each.
const (
	CauseStatus     = "The endpoint of %s answers %d since %s."
	CauseRefused    = "%s goes to an address that is not on the public internet, so nothing is sent."
	CauseDNS        = "The host name of %s has no public address since %s."
	CauseTLS        = "No secure connection (TLS) to the endpoint of %s comes about since %s."
	CauseConnect    = "Nothing answers at the address of %s since %s."
	CauseTimeout    = "The endpoint of %s answers too slowly or not at all since %s."
	CauseBroken     = "The endpoint of %s breaks the connection off since %s."
	CauseProtocol   = "What the endpoint of %s answers is not proper HTTP since %s."
	CauseRedirect   = "The endpoint of %s answers with a redirect since %s; redirects are not followed."
	CauseGone       = "%s was switched off: its endpoint answered 410 Gone."
	CausePausedHeld = "%s is switched off; held for it: %s."
	CausePaused     = "%s is switched off, so its events are not sent."
	CauseWell       = "%s works: the latest attempt was accepted."
	CauseUnused     = "%s has not been used yet with the address and headers that it has."
	CauseSlow       = "%s works, but some attempts were refused in the last 24 hours."
	CauseWait       = "Waiting for the next attempt: %s."
	CauseHeld       = "Held for it: %s."
	CauseJobFailed  = "This job failed %d times and was given up: %s"
	CauseJobErrors  = "Not applied: %s of %s. %s"
	CauseJobTimings = "%s of %s timing groups were not carried out, or not for all of their categories: the " +
		"callback, and the job by the API, say for which."
	CauseJobDone      = "Everything was applied: %s."
	CauseJobDry       = "A dry run: nothing was changed. The result tells what would have been."
	CauseJobRunning   = "In work: %s of %s objects done."
	CauseJobQueued    = "Waiting for its turn: jobs of one kind run one after the other."
	CauseJobTried     = "Tried %d times, and tried again: %s"
	CauseDelivered    = "Delivered: the endpoint accepted it at attempt %d."
	CauseFailed       = "Given up after %d attempts: %s"
	CausePending      = "Attempt %d of 6 follows %s: %s"
	CausePendingFirst = "The first attempt is due."
	SentAnew          = "Sent again."
	DetailMaybeGot    = "The endpoint may have got it all the same. Every attempt carries the same webhook-id, by " +
		"which it can drop repeats."
	DetailRepeats = "The endpoint may have got earlier attempts too. All carry the same webhook-id, by which it " +
		"can drop repeats."
	RetryDelivered = "The endpoint has accepted it already, and gets it once more, with the same webhook-id."
	RetriedAlready = "The delivery has been sent or tried again since this form was shown, so nothing was done. " +
		"Load the page to see how it is now."
	CauseDeliveryHeld = "Held: %s."
	CauseItemShown    = "By the stores' own values the item can be ordered at %s of %s stores below."
	CauseItemInactive = "The item is inactive in the master catalogue, so no store shows it. A menu request that " +
		"names it with available true enables it."
	CauseItemNoStore  = "No store has this item. It comes to a store when a menu request for that store names it."
	CauseItemNoList   = "The item is listed on no platform (included_platforms is empty), so no customer sees it."
	CauseItemCategory = "The category %s is inactive, so its items are not shown, whatever other categories they " +
		"are in."
	CauseStoreNoList = "The store is listed on no platform: the POS sent neither included_platforms nor " +
		"excluded_platforms, or an empty list."
	CauseStoreOff     = "The store is not active, so no platform shows it."
	CauseStoreNoOrder = "The store takes no orders (ordering_enabled is false)."
	CauseStoreHidden  = "The store is hidden from customers (hide_from_ui is true)."
	CauseStoreClosed  = "The store is closed now by its opening hours."
	CauseStoreShut    = "The store is closed on every platform on which it is listed."
	CauseStoreLive    = "The store takes orders on %s."
	CauseNotListed    = "not in the platforms of the store"
	CauseClosedHere   = "closed on this platform %s"
	ActSeeDelivery    = "Look at the attempt"
	ActSeeWebhook     = "Look at the webhook"
	ActSeeJob         = "Look at the job"
	ActSeeJobs        = "Look at the menu requests"
	RemedyStatus      = "The receiver has to answer 2xx. What it answered stands in the attempt."
	RemedyRefused     = "Subscribe a public address, or allow its range with SERVERY_WEBHOOK_ALLOW."
	RemedyDNS         = "Correct the URL of the webhook, or the DNS entry of the host. A private address needs " +
		"SERVERY_WEBHOOK_ALLOW."
	RemedyTLS = "The receiver needs a valid certificate for this host name and TLS 1.2 or 1.3; its attempts " +
		"say what is wrong."
	RemedyConnect = "The receiver has to listen at this address and port, and let the hub through its firewall."
	RemedyTimeout = "It has 3 seconds to accept a connection and 5 for the whole exchange: accept first, work " +
		"later."
	RemedyRedirect = "Subscribe the final address."
	RemedyGone     = "Resume it once the receiver wants deliveries again; what was held is then sent."
	RemedyPaused   = "Resume it to have them sent."
)
