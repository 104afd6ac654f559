package text

// Texts about the limits of a page: invalid filters, truncated lists, and outdated data.
const (
	FilterWrong     = "The filter is not valid"
	FilterState     = "%q is not a state of deliveries."
	FilterWebhook   = "%q is not the id of a webhook. Enter a number."
	BulkResendState = "Only delivered or failed deliveries can be resent."

	CSVCut     = "These are the first %s rows. There are more: use the filters of the list."
	OrderOf    = "Order %d"
	RowCreated = "%s, %s, created %s"

	MoreWebhooks   = "Problems of webhooks that are not shown here: %s. The lists of webhooks have them."
	MoreJobs       = "Failed jobs that are not shown here: %s. The lists of jobs have them."
	UnknownNumber  = "number unknown"
	MoreBusinesses = "Only %s businesses are shown. Search for others by name."
	MorePlatforms  = "%d of %d platforms are shown. The page of a store has all."
	MoreHits       = "Only %d results of each kind are shown. Search for more of the name, or for an id."
	MoreByName     = "More: search by name"

	NotConnected = "Not connected since %s. This page may be outdated."
	AsOf         = "%s As of %s."
	Copy         = "Copy"
	CauseMore    = "Details"

	PlatformConflict = "Nothing was saved, because another user has changed the platform. Compare, then save again."
	SecretsReenter   = "Your input is still here, except secrets. Enter them again."
	SessionLost      = "You were signed out, so nothing was done. Sign in to return to the page, and repeat it."
)

// Texts of columns, orders and searches of lists.
const (
	Columns         = "Columns"
	ColumnsLegend   = "Columns of this list, and of its CSV file"
	ColumnsApply    = "Show"
	ColumnsStandard = "Standard columns"
	SortNewest      = "Sort: the latest first"
	SortOldest      = "Sort: the oldest first"
	FilterSort      = "%q is not an order of this list."
	FilterSortOf    = "The order %q needs the filter “Time of: failure”."

	TextIn             = "Payload or response"
	TextInOrder        = "Content of the order"
	TextInJob          = "Request or result"
	TextInAudit        = "Reason or changes"
	TextInHint         = "part of the text"
	Searched           = "Searched %s of about %s, until %s."
	SearchedAll        = "Searched all %s in the time range."
	SearchedOpen       = "Searched %s, until %s."
	SearchedOpenAll    = "Searched all %s."
	SearchContinue     = "Continue"
	SearchNone         = "Nothing found so far"
	SearchNoneText     = "Continue the search, or change the filters."
	SearchCut          = "The search is not complete. Select a shorter time range, or use more filters."
	SearchImplied      = "Without a start, a search covers seven days."
	AtLeast            = "at least %s"
	ChooseAllFailed    = "Resend all that failed and match: %s"
	ChooseAllDelivered = "Resend all that were delivered and match: %s"
	SearchBulkResend   = "A bulk resend cannot use the text filter. Clear it, or select deliveries in the list."
)
