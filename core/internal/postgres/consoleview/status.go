package consoleview

import (
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

// storeStatus returns the condition for the console.StoreStatus of a store at a local time.
func storeStatus(local time.Time) bun.Safe {
	day := func(at time.Time) string { return strings.ToLower(at.Weekday().String()) }
	return bun.Safe(queries.With("store_status", postgres.Args{
		"day": day(local), "day_before": day(local.AddDate(0, 0, -1)), "time": local.Format(time.TimeOnly),
		"listed_on": bun.Safe(publications.ListedOn), "sells_on": sellsOn,
	}))
}

// The rule of menu.Orderability in SQL.
var (
	categoryInactive = bun.Safe(queries.With("category_inactive", nil))
	catalogueReason  = bun.Safe(queries.With("catalogue_reason", postgres.Args{"category_inactive": categoryInactive}))
	missingGroup     = bun.Safe(queries.With("missing_group", nil))
	storeReason      = storeReasonOf(requiresOptions(bun.Safe("override.business_id"), bun.Safe("override.id")))
	sellsOn          = bun.Safe(queries.With("sells_on", postgres.Args{"store_reason": storeReason,
		"catalogue_reason": catalogueReason}))
	placeReason = bun.Safe(queries.With("place_reason", postgres.Args{
		"listed_on": bun.Safe(publications.ListedOn), "sells_on": sellsOn,
	}))
	itemPlaceReason = bun.Safe(queries.With("place_reason", postgres.Args{ // of a store that sells the item
		"listed_on": bun.Safe(publications.ListedOn), "sells_on": true,
	}))
)

// requiresOptions returns whether an item of a business requires options: values, or expressions.
func requiresOptions(business, item any) bun.Safe {
	return bun.Safe(queries.With("requires_options", postgres.Args{"business": business, "item": item}))
}

// storeReasonOf returns the reason of the row override, whose item may require options.
func storeReasonOf(requiresOptions bun.Safe) bun.Safe {
	return bun.Safe(queries.With("store_reason", postgres.Args{"missing_group": missingGroup,
		"requires_options": requiresOptions}))
}

// closedThere returns the condition on a row report that the platform has closed the store.
func closedThere(now time.Time) bun.Safe {
	return bun.Safe(queries.With("closed_there", postgres.Args{"now": now}))
}

// placeTables returns the common table expressions of the stores that a condition selects, on all platforms.
// The expression sellsEverywhere may be true without a look at the items of the stores.
func placeTables(business core.BusinessID, only postgres.Conditions, working []string, local time.Time,
	sellsEverywhere string) bun.Safe {
	return bun.Safe(queries.With("place_tables", postgres.Args{
		"sells_everywhere": bun.Safe(sellsEverywhere), "catalogue_reason": catalogueReason,
		"business": business, "only": only, "working": postgres.Array(working), "today": int(local.Weekday()),
		"time":             local.Format(time.TimeOnly),
		"requires_options": requiresOptions(bun.Safe("item.business_id"), bun.Safe("item.id")),
	}))
}

// textCondition returns the condition that a store contains a text.
func textCondition(text string) (only postgres.Conditions) {
	only.Add(text != "", "(store.name ILIKE ? OR store.city ILIKE ? OR store.ref_id ILIKE ?)", containsPattern(text),
		containsPattern(text), containsPattern(text))
	return only
}

// storeConditions returns the conditions of a filter on a store.
func storeConditions(f console.StoreFilter) (only postgres.Conditions) {
	only = textCondition(f.Text)
	only.Add(f.Status != "", "? = ?", storeStatus(f.Local), f.Status)
	return only
}
