package consoleview

import (
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

// standing returns the condition for the console.Standing of a store at a local time.
func standing(local time.Time) bun.Safe {
	day := func(at time.Time) string { return strings.ToLower(at.Weekday().String()) }
	return bun.Safe(queries.With("store_status", postgres.Args{
		"day": day(local), "day_before": day(local.AddDate(0, 0, -1)), "time": local.Format(time.TimeOnly),
		"listed_on": bun.Safe(publications.ListedOn),
	}))
}

// chosenStores returns the conditions of a filter on a store.
func chosenStores(f console.StoreFilter) (only postgres.Conditions) {
	only.Add(f.Text != "", "(store.name ILIKE ? OR store.city ILIKE ? OR store.ref_id ILIKE ?)", part(f.Text),
		part(f.Text), part(f.Text))
	only.Add(f.Standing == console.MenuRefused, `EXISTS (SELECT 1 FROM publications publication
		WHERE publication.business_id = store.business_id AND publication.store_id = store.id
			AND publication.state = 'failed')`)
	only.Add(f.Standing != "" && f.Standing != console.MenuRefused, "? = ?", standing(f.Local), f.Standing)
	return only
}
