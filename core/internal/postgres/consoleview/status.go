package consoleview

import (
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

// storeStatus returns the condition for the console.StoreStatus of a store at a local time.
func storeStatus(local time.Time) bun.Safe {
	day := func(at time.Time) string { return strings.ToLower(at.Weekday().String()) }
	return bun.Safe(queries.With("store_status", postgres.Args{
		"day": day(local), "day_before": day(local.AddDate(0, 0, -1)), "time": local.Format(time.TimeOnly),
		"listed_on": bun.Safe(publications.ListedOn),
	}))
}

// storeNotLive returns the condition for console.StoreNotLive.
func storeNotLive(workingPlugins []string) bun.Safe {
	return bun.Safe(queries.With("store_not_live", postgres.Args{
		"working_plugins": postgres.Array(workingPlugins), "listed_on": bun.Safe(publications.ListedOn),
	}))
}

// storeConditions returns the conditions of a filter on a store.
func storeConditions(f console.StoreFilter) (only postgres.Conditions) {
	only.Add(f.Text != "", "(store.name ILIKE ? OR store.city ILIKE ? OR store.ref_id ILIKE ?)", containsPattern(f.Text),
		containsPattern(f.Text), containsPattern(f.Text))
	only.Add(f.Status == console.MenuRejected, `EXISTS (SELECT 1 FROM publications publication
		WHERE publication.business_id = store.business_id AND publication.store_id = store.id
			AND publication.state = 'failed')`)
	only.Add(f.Status == console.StoreNotLive, "?", storeNotLive(f.WorkingPlugins))
	only.Add(f.Status != "" && f.Status != console.MenuRejected && f.Status != console.StoreNotLive, "? = ?",
		storeStatus(f.Local), f.Status)
	return only
}
