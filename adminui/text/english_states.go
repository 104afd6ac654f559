package text

// Causes, in one sentence each. The first word names the webhook: order_placed webhook 14.
const (
	WebhookName     = "%s webhook %d"
	CauseStatus     = "%s: the server has responded with error %s since %s."
	CauseBlockedURL = "%s: its URL is not on the public internet, so nothing is sent."
	CauseDNS        = "%s: its server name has not been found on the internet since %s."
	CauseTLS        = "%s: no secure connection (TLS) to the server since %s."
	CauseConnect    = "%s: no connection to the server since %s."
	CauseTimeout    = "%s: the server has responded too slowly or not at all since %s."
	CauseBroken     = "%s: the server has closed the connection without a full response since %s."
	CauseProtocol   = "%s: the server has sent responses that are not valid HTTP since %s."
	CauseRedirect   = "%s: the server has redirected to another URL since %s. The hub does not follow redirects."
	CauseGone       = "%s is disabled, because the server responded with 410 (Gone): it wants no more events."
	EffectOrders    = "New orders do not reach the POS by this webhook, but customers can still order."
	EffectEvents    = "This server accepts none of these events."
	CausePausedHeld = "%s is paused. Waiting: %s."
	CausePaused     = "%s is paused, so its events are not sent."
	CauseWorks      = "%s works: the latest attempt was accepted."
	CauseUnused     = "%s has not been used yet with its current URL and headers."
	CauseSlow       = "%s works, but some attempts failed in the last 24 hours."
	CauseWait       = "Pending: %s."
	CauseHeld       = "Waiting: %s."
	CauseJobFailed  = "The job failed after %s: %s"
	JobNamed        = "Job %s · %s"
	RemedyJobFailed = "Ask the operator of the hub to fix this."
	RemedyJobPOS    = "Then let the POS resend the request."
	RemedyJobRerun  = "Use Run again only if nothing has changed since."
	RemedyJobStart  = "Then repeat it where you started it."
	RemedyJobCheck  = "The hub repeats the check when the platform settings or the plugin change."
	CauseJobErrors  = "Not applied: %s of %s. %s"
	OneTiming       = "1 timing group"
	Timings_        = "%s timing groups"
	CauseJobTimings = "Not applied, or not for all categories: %s of %s. The callback has the reasons."
	CauseJobDone    = "Applied: %s."
	CauseJobNothing = "Nothing had to change."
	CauseJobChecked = "Checked: %s."
	CauseJobFound   = "Items that break a rule of the platform: %s."
	CauseJobNoOrder = "Nothing was resent. No order of this window was left to resend: they were accepted, " +
		"cancelled or being sent. Or no webhook for order_placed was active."
	CauseJobDry     = "This was a dry run: nothing was changed. The result shows what would change."
	CauseJobRunning = "In progress: %s of %s done."
	CauseJobQueued  = "Queued: jobs of one kind run one after the other."
	CauseJobTried   = "Attempt %d failed and will be retried: %s"
	CauseDelivered  = "Delivered: the server accepted attempt %d."
	CauseFailed     = "Failed after %s: %s."
	CauseNotSent    = "Not sent."
	CauseUnsentOff  = "Not sent, because the webhook was paused."
	RemedyFailed    = "The hub does not retry it anymore. If it is still needed, resend it when the server accepts " +
		"events again."
	CausePending       = "Pending: attempt %d of %d follows %s. The previous attempt failed: %s."
	CausePendingFirst  = "Pending: the first attempt is due."
	DetailPendingFirst = "If it stays pending, the server responds slowly or not at all. The page of the webhook " +
		"then shows it."
	Resent         = "Resent."
	DetailMaybeGot = "The server may have received it. If the POS shows it twice, ask its developer to " +
		"ignore events with the same id (webhook-id)."
	DetailRepeats = "The server may have received earlier attempts too. If the POS shows it twice, ask its " +
		"developer to ignore events with the same id (webhook-id)."
	RetryDelivered = "The server has accepted this event already. The POS then receives it again, with the " +
		"same event id (webhook-id). It may ignore it as a repeat."
	RetryWaiting   = "The hub makes an attempt now. If the server accepts it, the hub does not send it later."
	NothingResent  = "Nothing was resent: %s."
	RetriedAlready = "Nothing was done, because the delivery has changed since this form was shown. Reload the page."

	CauseDeliveryHeld = "Waiting: %s."
	HeldEarlier       = "an earlier event of the same order must be delivered first"
	HeldPaused        = "the webhook is paused"
	HeldDown          = "the server has accepted no deliveries since %s"
	HeldGone          = "the webhook is disabled, because the server responded with 410 (Gone)"
	RemedyHeldEarlier = "It is sent as soon as the earlier event is delivered or has failed."
	RemedyHeldPaused  = "It is sent when the webhook is resumed."
	RemedyHeldDown    = "It is sent as soon as the server accepts deliveries again. Waiting uses none of its %d " +
		"attempts."
	DetailLast  = "The latest attempt failed: %s."
	FailureText = "%s (%s)"
	FieldError  = "%s (field %s)"
	NoteEarlier = "waiting for an earlier event"
	NotePaused  = "webhook paused"
	NoteGone    = "webhook disabled"
	NoteDown    = "server accepts no deliveries"

	CauseItemEverywhere = "Customers can order the item on %s."
	CauseItemAtOne      = "Customers can order the item at the only store that sells it."
	CauseItemAtAll      = "Customers can order the item at all %s stores that sell it."
	CauseItemInactive   = "The item is inactive in the master catalogue, so no store shows it."
	CauseItemNoStore    = "No store sells this item."
	CauseItemNoList     = "The item is not listed on any platform, so no customer sees it."
	CauseItemCategory   = "The item's category %s is inactive."
	CauseStoreNoList    = "The store is not listed on any platform."
	CauseStoreOff       = "The store is inactive, so no platform shows it."
	CauseStoreNoOrder   = "The store accepts no orders, because orders are disabled for it."
	CauseStoreHidden    = "The store is hidden from customers."
	CauseStoreClosed    = "The store is closed now, outside its opening hours."
	StoreHours          = "Opening hours: %s."
	DateHours           = "Opening hours on %s: %s."
	ClosedAllDay        = "closed"
	CauseStoreShut      = "The store is closed on every platform that lists it."
	CauseStoreLive      = "The store accepts orders on %s."
	CauseNotListed      = "The POS has not selected this platform for the store. To sell there, select the " +
		"platform in the POS (field included_platforms)."
	CauseClosedHere  = "Closed on this platform %s"
	CauseClosedThere = "The platform reports the store as %s since %s"
	CauseClosedBy    = "%s reports the store as %s since %s."
	ActSeeDelivery   = "View attempt"
	ActSeeWebhook    = "View webhook"
	ActSeeJob        = "View job"
	ActSeeJobs       = "View menu requests"
	ActSeeResends    = "View bulk resends"
	RemedyStatus     = "The operator of the server must fix this. The last attempt shows its response."
	Headers          = "Headers with the login"
	NoneSet          = "none"
	HeadersChanged   = "changed %s"
	HeadersSent      = "The hub sends the login in %s, unchanged since %s."
	HeadersNone      = "The hub sends no login, because the webhook has no headers for it."
	LastError        = "Details: %s."
	RemedyLogin      = "Ask the developer of the POS which login the server expects. The developer then sets it in " +
		"the headers of this webhook, by the API. If the login is right, the server may have an outdated signing " +
		"secret. Use Rotate secret only if the developer asks for it."
	RemedyPath       = "Check the path in the URL of the webhook: the server does not know it."
	RemedyBlockedURL = "Use a public URL. Or the operator of the hub allows its network with SERVERY_WEBHOOK_ALLOW."
	RemedyDNS        = "Ask the developer of the POS to check the URL and the DNS entry of the server name. A " +
		"DNS entry makes a server name known on the internet. If the server is reachable only inside a private " +
		"network, ask the operator of the hub to allow it (SERVERY_WEBHOOK_ALLOW)."
	RemedyTLS = "Ask the operator of the server to install a valid certificate. For the operator: the " +
		"certificate must be for the server's name, and the server must support TLS 1.2 or 1.3."
	RemedyConnect  = "Ask the operator of the server to check that it runs, and that its firewall lets the hub through."
	RemedyBroken   = "Check the server and its proxy for crashes, restarts and idle timeouts."
	RemedyProtocol = "Check that the URL leads to a web server. The last attempt shows what is wrong."
	RemedyTimeout  = "The server must accept the connection within 3 seconds and respond within 5. It can process " +
		"the event afterwards."
	RemedyRedirect = "Ask the developer of the POS to change the URL of the webhook to the new one, by the API. The " +
		"last attempt shows it."
	RemedyGone     = "Resume it when the receiver wants events again. Waiting deliveries are then sent."
	RemedyPaused   = "Resume it to send new events."
	RemedyHeld     = "Resume it to send them and new events."
	EventsMissed   = "It gets no event of the time since then, not even after you resume it."
	EventsMissedAt = "It gets no event of the time since %s, not even after you resume it."
)

// StatusWords are the meanings of frequent HTTP statuses.
var StatusWords = map[int]string{400: "bad request", 401: "login rejected", 403: "access denied", 404: "not found",
	405: "method not allowed", 413: "too large", 422: "content rejected", 429: "too many requests",
	500: "server error", 502: "bad gateway", 503: "not available", 504: "gateway timeout"}

// FailureWords are the meanings of classes of failed attempts. Others need no explanation.
var FailureWords = map[string]string{"tls": "no secure connection", "connect": "no connection to the server"}

// Meanings of the HTTP statuses of a platform. The formats take its name and
// its response.
const (
	PlatformUnavailable = "%s cannot accept it now (%s)"
	PlatformLogin       = "%s rejected the login (%s)"
	PlatformMenu        = "%s rejected the menu (%s)"
	PlatformContent     = "%s rejected the content (%s)"
	PlatformOverloaded  = "%s received too many requests (%s)"
	PlatformStatus      = "%s responded with error %s"
	PlatformResponded   = "the aggregator responded with %d: %s" // as the hub words it
	PluginNotRunning    = "its plugin %[2]s is not running"
)

// OneOf names one object of each type.
var OneOf = map[string]string{"categories": "category", "items": "item", "option_groups": "option group",
	"options": "option", "taxes": "tax", "charges": "charge", "stores": "store", "timing_groups": "timing group"}
