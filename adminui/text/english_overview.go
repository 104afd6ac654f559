package text

// Texts of the overview and of a business.
const (
	NoProblems = "No problems with webhooks, orders, menus and updates. No request of the last 24 hours " +
		"failed, or had half of its entries rejected."
	CauseProblems   = "%s. Not delivered: %s."
	OneOpenProblem  = "1 problem with deliveries is not resolved"
	OpenProblems_   = "%s problems with deliveries are not resolved"
	CauseHeldNow    = "Waiting: %s. Possible reasons: %s."
	ActSeeProblems  = "View problems"
	NoTraffic       = "There were no deliveries in the last 24 hours, and nothing failed."
	AcceptedRate    = "Attempts accepted, 24 h"
	PendingNow      = "Pending"
	HeldNow         = "Waiting"
	FailedJobsDay   = "Jobs failed, 24 h"
	AttemptsHour    = "Delivery attempts per hour"
	TimesHour       = "Time per attempt, by hour"
	Accepted        = "Accepted"
	Failed          = "Failed"
	AverageTime     = "Average"
	SlowestTime     = "Slowest"
	AttemptsSummary = "%s accepted and %s failed in 24 hours"
	TimesSummary    = "%s on average, %s at most in 24 hours"
	OneAttempt      = "1 attempt"
	Attempts_       = "%s attempts"
	OfAttempts      = "of %s"
	HeldNote        = "server accepts no deliveries, webhook paused, or waiting for an earlier event"
	WaitNote        = "due now, or at the next retry"
	OpenJobsNote    = "and %s not finished yet"
	Name            = "Name"
	Country         = "Country"
	Currency        = "Currency"
	Zone            = "Time zone"
	Since           = "Since"
	RecentJobs      = "Recent jobs"
	NoBusinessTitle = "No business yet"
	NoBusinessText  = "Create one with servery business create. Its stores, webhooks and jobs then appear here."
	ChartHint       = "Drag over the chart to list the deliveries that were created in that time."
	ChartCounts     = "%s accepted, %s failed"
	ChartTimes      = "%s on average, %s at most"
	ChartNone       = "no attempts"
)

// Texts of the grid of stores and platforms.
const (
	Grid     = "Stores on platforms"
	GridNote = "Stores with problems first. The page of each store has the reason. Live: customers can order " +
		"there. Not live: they cannot. Not connected: customers may still order there, but the hub cannot accept " +
		"the orders."
	GridAll    = "All stores"
	GridLive   = "Live"
	GridClosed = "Closed now"
	GridRun    = "Publishing"

	Unconfirmed = "Unconfirmed"
	GridNot     = "Not listed"
)
