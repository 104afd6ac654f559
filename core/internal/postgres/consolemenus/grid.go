package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// gridColumns are the columns of a row store with its columns closed_on and platform_status.
const gridColumns = bun.Safe(`store.id, store.ref_id, store.name, store.active, store.ordering_enabled,
	store.hide_from_ui, store.excluded_platforms, store.included_platforms, store.timings, store.special_timings,
	store.closed_on, store.platform_status`)

// GridRow is a row of gridColumns. It is exported because bun requires that.
type GridRow struct {
	ID       int64           `bun:"id"`
	RefID    string          `bun:"ref_id"`
	Name     string          `bun:"name"`
	Active   bool            `bun:"active"`
	Ordering bool            `bun:"ordering_enabled"`
	Hidden   bool            `bun:"hide_from_ui"`
	Excluded []string        `bun:"excluded_platforms,array"`
	Included []string        `bun:"included_platforms,array"`
	Timings  json.RawMessage `bun:"timings"`
	Dates    json.RawMessage `bun:"special_timings"`
	ClosedOn json.RawMessage `bun:"closed_on"`
	Reported json.RawMessage `bun:"platform_status"`
}

func (r GridRow) store() (console.GridStore, error) {
	s := console.GridStore{ID: r.ID, RefID: r.RefID, Name: r.Name, Active: r.Active, Ordering: r.Ordering,
		Hidden:   r.Hidden,
		Excluded: r.Excluded, Included: r.Included, ClosedOn: r.ClosedOn, Reported: r.Reported}
	for _, column := range []struct {
		raw  json.RawMessage
		into any
	}{{r.Timings, &s.Hours.Week}, {r.Dates, &s.Hours.Dates}} {
		if len(column.raw) == 0 {
			continue
		}
		if err := json.Unmarshal(column.raw, column.into); err != nil {
			return s, fmt.Errorf("reading the hours of store %d: %w", r.ID, err)
		}
	}
	return s, nil
}

// Grid returns stores of a business on its platforms, and how many stores each reason concerns.
func (c Store) Grid(ctx context.Context, business core.BusinessID,
	f console.GridFilter) (grid console.Grid, err error) {
	var rows []struct {
		GridRow
		Reasons map[string]console.PlaceReason `bun:"reasons"`
		OpensAt *int64                         `bun:"opens_at"` // see localMinute
		Key     int64                          `bun:"key"`
		Counts  map[console.PlaceReason]int    `bun:"counts"`
	}
	read := places{business: business, only: textCondition(f.Text), working: f.WorkingPlugins, local: f.Local,
		refused: "false"}
	if read.stores, read.facts, err = c.unsold(ctx, business); err != nil {
		return grid, err
	}
	args := read.args()
	offset, offsetEnds, nextOffset := zoneOffsets(f.Local)
	maps.Copy(args, postgres.Args{
		"place_reason": placeReason, "platform": f.Platform, "reason": f.Reason,
		"rejected": console.PlaceMenuRejected,
		"reasons":  postgres.Array(f.Reason.Reasons()), "sort": f.Sort,
		"minute": localMinute(f.Local), "offset": offset, "offset_ends": offsetEnds, "next_offset": nextOffset,
		"problems":  postgres.Array(reasonsWhere(console.PlaceReason.Problem)),
		"warnings":  postgres.Array(reasonsWhere(console.PlaceReason.Warning)),
		"after_key": f.After.Key, "after_ref": f.After.RefID, "limit": f.Limit,
	})
	if err := c.db.Tenant(business).NewRaw(queries.With("grid_stores", args)).Scan(ctx, &rows); err != nil {
		return grid, fmt.Errorf("reading the stores of the grid: %w", err)
	}
	grid.Total = rows[0].Counts[console.PlaceLive]
	for _, reason := range console.PlaceReasons() {
		if n := rows[0].Counts[reason]; n > 0 {
			grid.Counts = append(grid.Counts, console.PlaceCount{Reason: reason, Stores: n})
		}
	}
	for _, r := range rows {
		if r.ID == 0 { // no store: only the counts
			continue
		}
		at, err := r.store()
		if err != nil {
			return grid, err
		}
		at.Reasons, at.Cursor = r.Reasons, console.GridCursor{Key: r.Key, RefID: r.RefID}
		if r.OpensAt != nil {
			at.OpensAt = atLocalMinute(*r.OpensAt, f.Local.Location())
		}
		grid.Stores = append(grid.Stores, at)
	}
	return grid, nil
}

// reasonsWhere returns the reasons with a property.
func reasonsWhere(has func(console.PlaceReason) bool) []string {
	var list []string
	for _, reason := range console.PlaceReasons() {
		if has(reason) {
			list = append(list, string(reason))
		}
	}
	return list
}

// localMinute numbers the minutes of a local time, as if each day had 24 hours.
func localMinute(local time.Time) int64 {
	year, month, day := local.Date()
	return time.Date(year, month, day, local.Hour(), local.Minute(), 0, 0, time.UTC).Unix() / 60
}

// zoneOffsets returns the offset from UTC of a local time and the next one, in seconds, and when it changes. PostgreSQL
// may not know the zone.
func zoneOffsets(local time.Time) (offset int, ends time.Time, next int) {
	_, offset = local.Zone()
	if _, ends = local.ZoneBounds(); ends.IsZero() {
		return offset, local, offset
	}
	_, next = ends.Zone()
	return offset, ends, next
}

// atLocalMinute is the inverse of localMinute.
func atLocalMinute(minute int64, zone *time.Location) time.Time {
	at := time.Unix(minute*60, 0).UTC()
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, zone)
}
