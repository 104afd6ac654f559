package text

// Words of the overview and of a business.
const (
	AllWell = "Nothing needs attention: all webhooks work, every order was told of, platforms take their " +
		"menus and calls, and no request of the last 24 hours failed or had half of its objects refused."
	NoTraffic       = "Nothing has been delivered in the last 24 hours, and nothing failed."
	AcceptedRate    = "Attempts accepted, 24 h"
	OnTheWay        = "On their way"
	HeldNow         = "Held"
	FailedJobsDay   = "Jobs failed, 24 h"
	AttemptsHour    = "Delivery attempts by the hour"
	TimesHour       = "Time per attempt by the hour"
	Accepted        = "Accepted"
	Refused         = "Refused"
	AverageTime     = "Average"
	SlowestTime     = "Slowest, above the average"
	AttemptsSummary = "%s accepted and %s refused in 24 hours"
	TimesSummary    = "%s on average, %s at worst in 24 hours"
	OfAttempts      = "of %s attempts"
	HeldNote        = "webhook off or probed, or an earlier event first"
	WaitNote        = "due or waiting for a retry"
	OpenJobsNote    = "%s still to do"
	Name            = "Name"
	Country         = "Country"
	Currency        = "Currency"
	Zone            = "Time zone"
	Since           = "Since"
	RecentJobs      = "Recent jobs"
	NoBusinessTitle = "No business yet"
	NoBusinessText  = "servery business create makes one; it then shows here with its stores, webhooks and jobs."
)

// Words of the grid of stores and platforms.
const (
	Grid       = "Stores on platforms"
	GridNote   = "Those with problems first. Each store's page says why."
	GridAll    = "All stores"
	GridLive   = "Live"
	GridClosed = "Closed now"
	GridRun    = "Publishing"
	GridNot    = "Not listed"
)
