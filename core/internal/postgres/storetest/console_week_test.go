package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestDaysWithFailedObjectsAreCounted(t *testing.T) {
	clock := clocktest.New() // noon, UTC
	db := hubtest.Database(t, clock)
	business, other := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	pgtest.Exec(t, db, `UPDATE businesses SET timezone = 'America/New_York' WHERE id = ?`, business)
	ended := func(business core.BusinessID, ago time.Duration, result string, dry bool) core.ID {
		at := clock.Now().Add(-ago)
		id := core.NewID(at)
		pgtest.Exec(t, db, `INSERT INTO jobs (business_id, id, kind, state, body, created_at, total, result, dry_run)
			VALUES (?, ?, 'stores', 'done', '', ?, 2, ?, ?)`, business, id, at, result, dry)
		return id
	}
	const failed, fine, day = `{"errors":1,"failed":[{}]}`, `{"errors":0}`, 24 * time.Hour
	latest := ended(business, time.Hour, failed, false)
	ended(business, 9*time.Hour, failed, false) // still evening of the day before in New York
	ended(business, 9*time.Hour+time.Minute, failed, false)
	ended(business, 3*day, failed, false)
	ended(business, 8*day, failed, false)
	ended(business, 2*day, fine, false)
	ended(business, 4*day, failed, true)
	ended(other, 5*day, failed, false)
	read := consoleview.New(db)
	week, err := read.FailureWeek(t.Context(), business)
	require.NoError(t, err)
	require.Equal(t, console.FailureWeek{Days: 3, Jobs: 4, Latest: latest}, week)
	clock.Advance(20 * day)
	week, err = read.FailureWeek(t.Context(), business)
	require.NoError(t, err)
	require.Zero(t, week)
}
