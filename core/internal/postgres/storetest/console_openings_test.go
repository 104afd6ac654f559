package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// closeUntil closes a store on platform a. The platform reports that, or else the POS requested it.
func (p *publishHarness) closeUntil(ref string, until time.Time, reported bool) {
	p.t.Helper()
	statement := `INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference,
		at, turn_on_at) SELECT business_id, id, 'a', false, 'api', '', 'key:pos', ?2, now(), ?3 FROM stores
		WHERE business_id = ?0 AND ref_id = ?1`
	if reported {
		statement = `INSERT INTO store_reports (business_id, store_id, platform, state, reason, since, reported_at,
			until_at) SELECT business_id, id, 'a', 'closed', '', now(), now(), ?3 FROM stores
			WHERE business_id = ?0 AND ref_id = ?1`
	}
	pgtest.Exec(p.t, p.db, statement, p.business, ref, core.NewID(until), until)
}

func TestTimersShowTheirExactMinute(t *testing.T) {
	p := newPublishHarness(t)
	zone, err := time.LoadLocation("America/Chicago")
	require.NoError(t, err)
	// Daylight saving time ends at 2 on November 1.
	local := time.Date(2026, 10, 31, 12, 0, 30, 0, zone)
	opens := map[string]time.Time{"s1": time.Date(2026, 10, 31, 13, 0, 0, 0, zone),
		"s2": time.Date(2026, 11, 1, 8, 0, 0, 0, zone), "s3": time.Date(2026, 10, 31, 12, 1, 0, 0, zone),
		"s4": time.Date(2026, 11, 2, 9, 0, 0, 0, zone)}
	p.store("s3")
	p.store("s4")
	for ref, at := range opens {
		p.closeUntil(ref, at, ref == "s3" || ref == "s4")
	}
	grid, err := consolemenus.New(p.db).Grid(t.Context(), p.business, console.GridFilter{Platform: "a", Local: local,
		Limit: 9, After: console.ParseGridCursor("")})
	require.NoError(t, err)
	require.Len(t, grid.Stores, len(opens))
	for _, s := range grid.Stores {
		require.Equal(t, opens[s.RefID], s.OpensAt, s.RefID)
	}
}

func TestPagesByOpeningRepeatNoStoreLater(t *testing.T) {
	p := newPublishHarness(t)
	p.store("s3")
	for _, ref := range []string{"s1", "s2", "s3"} {
		p.closeUntil(ref, noon.Add(time.Hour), false)
	}
	f := console.GridFilter{Platform: "a", Sort: console.SortOpening, Limit: 1, After: console.ParseGridCursor("")}
	var listed []string
	for _, later := range []time.Duration{30 * time.Second, time.Minute, 100 * time.Second} {
		f.Local = noon.Add(later)
		grid, err := consolemenus.New(p.db).Grid(t.Context(), p.business, f)
		require.NoError(t, err)
		require.Len(t, grid.Stores, 1)
		listed, f.After = append(listed, grid.Stores[0].RefID), grid.Stores[0].Cursor
	}
	require.Equal(t, []string{"s1", "s2", "s3"}, listed)
}
