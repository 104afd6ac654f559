package consolemenus

import (
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	storesdb "github.com/servery-hub/servery/core/internal/postgres/stores"
)

// The rule of menu.Orderability in SQL, for lists of all stores.
var (
	categoryInactive = bun.Safe(queries.With("category_inactive", nil))
	catalogueReason  = bun.Safe(queries.With("catalogue_reason", postgres.Args{"category_inactive": categoryInactive,
		"listed": itemListed(bun.Safe("platform.name"))}))
	missingGroup    = bun.Safe(queries.With("missing_group", nil))
	mayLackOptions  = bun.Safe(queries.With("may_lack_options", nil))
	mayLackRequired = bun.Safe(queries.With("may_lack_required", nil))
	sellsOn         = bun.Safe(queries.With("sells_on", postgres.Args{"store_reason": storeReasonOf(mayLackOptions),
		"catalogue_reason": catalogueReason}))
	placeReason = bun.Safe(queries.With("place_reason", postgres.Args{
		"listed_on": bun.Safe(publications.ListedOn),
		"unsold":    bun.Safe("(store.id, platform.name) IN (SELECT store_id, value FROM known)"),
	}))
	itemPlaceReason = bun.Safe(queries.With("place_reason", postgres.Args{ // of a store that sells the item
		"listed_on": bun.Safe(publications.ListedOn), "unsold": false,
	}))
)

// itemListed returns the condition that the row item is listed on a platform, given as a value or an expression.
func itemListed(platform any) bun.Safe {
	return bun.Safe(queries.With("item_listed", postgres.Args{"platform": platform}))
}

// storeReasonOf returns the reason of the row override, whose item may lack options.
func storeReasonOf(mayLackOptions bun.Safe) bun.Safe {
	return bun.Safe(queries.With("store_reason", postgres.Args{"missing_group": missingGroup,
		"may_lack_options": mayLackOptions}))
}

// requiredGroups returns the common table expression of the groups of items that require options. The items are a query
// of ids, or an id.
func requiredGroups(business core.BusinessID, items any) bun.Safe {
	return bun.Safe(queries.With("required_groups", postgres.Args{"business": business, "of": items}))
}

// places are the stores that a condition selects, on all platforms.
type places struct {
	business core.BusinessID
	only     postgres.Conditions
	working  []string  // plugins
	local    time.Time // the present time
	stores   []int64   // of the facts
	facts    []string
	refused  bun.Safe // whether the platform of a publication rejected an item
}

// args returns the arguments of a statement that reads places.
func (p places) args() postgres.Args {
	return postgres.Args{
		"place_tables": bun.Safe(queries.With("place_tables", postgres.Args{
			"business": p.business, "only": p.only, "working": postgres.Array(p.working), "refused": p.refused,
			"known_stores": postgres.Array(p.stores), "known_values": postgres.Array(p.facts),
			"local": p.local.Format(time.DateTime)})),
		"place_joins": bun.Safe(queries.With("place_joins", postgres.Args{"business": p.business,
			"closed_there": bun.Safe(queries.With("closed_there", postgres.Args{"now": p.local}))})),
		"business": p.business,
		"columns":  gridColumns, "closed_on": storesdb.ClosedOn, "platform_status": storesdb.PlatformStatus,
	}
}
