package postgres

import (
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// withinHours tells whether the opening hours of a store s, which CheckHours has
// accepted, hold at a moment (store.OpenAt): ?0 is its weekday, ?1 the one before, ?2
// its time as HH:MM:SS.
const withinHours = `(coalesce(s.timings, '[]') = '[]' OR EXISTS (SELECT 1 FROM jsonb_array_elements(s.timings) d
	CROSS JOIN LATERAL jsonb_to_recordset(d->'slots') AS t (start_time text, end_time text)
	WHERE d->>'day' = ?0 AND t.start_time <= ?2 AND (?2 < t.end_time OR t.end_time = '23:59:59' OR t.end_time < t.start_time)
		OR d->>'day' = ?1 AND t.end_time < t.start_time AND ?2 < t.end_time))`

// standingOf is the console.Standing of a store s, as withinHours is read.
const standingOf = `CASE
	WHEN NOT s.active THEN 'inactive'
	WHEN NOT EXISTS (SELECT 1 FROM platforms f WHERE f.business_id = s.business_id AND ` + listedOn + `) THEN 'unlisted'
	WHEN NOT s.ordering_enabled THEN 'no_orders'
	WHEN EXISTS (SELECT 1 FROM store_switches w JOIN platforms f ON f.business_id = w.business_id AND f.name = w.platform
		WHERE w.business_id = s.business_id AND w.store_id = s.id AND NOT w.open AND ` + listedOn + `) THEN 'closed'
	WHEN s.hide_from_ui THEN 'hidden'
	WHEN NOT ` + withinHours + ` THEN 'shut'
	ELSE 'open' END`

// standing is standingOf at a moment of local time.
func standing(local time.Time) string {
	day := func(at time.Time) string { return strings.ToLower(at.Weekday().String()) }
	return formatter.FormatQuery(standingOf, day(local), day(local.AddDate(0, 0, -1)), local.Format(time.TimeOnly))
}

// chosenStores are the conditions on a store s by which a filter chooses.
func chosenStores(business core.BusinessID, f console.StoreFilter) conditions {
	only := conditions{text: "s.business_id = ?", args: []any{business}}
	only.add(f.Text != "", "(s.name ILIKE ? OR s.city ILIKE ? OR s.ref_id ILIKE ?)", part(f.Text), part(f.Text), part(f.Text))
	only.add(f.Standing == console.MenuRefused, "EXISTS (SELECT 1 FROM publications p WHERE p.business_id = s.business_id AND p.store_id = s.id AND p.state = 'failed')")
	only.add(f.Standing != "" && f.Standing != console.MenuRefused, standing(f.Local)+" = ?", f.Standing)
	return only
}
