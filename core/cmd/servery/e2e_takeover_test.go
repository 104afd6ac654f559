package main

import (
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

var kills = flag.Int("kills", 8, "how often a hub is killed while it takes in orders")

// logTakeovers logs a histogram of the time from each kill of a hub to the last delivery of its accepted events.
func logTakeovers(t *testing.T, database string, at []time.Time) {
	t.Helper()
	ledger := openTestDatabase(t, database)
	var took []time.Duration
	for _, killed := range at {
		var last sql.NullTime
		require.NoError(t, ledger.db.QueryRowContext(t.Context(),
			`SELECT max(finished_at) FROM deliveries WHERE id < $1 AND finished_at > $2`, core.NewID(killed).String(),
			killed).Scan(&last))
		if last.Valid {
			took = append(took, last.Time.Sub(killed))
		}
	}
	require.NotEmpty(t, took)
	slices.Sort(took)
	const step = 250 * time.Millisecond
	counts := map[time.Duration]int{}
	for _, one := range took {
		counts[one/step]++
	}
	var histogram strings.Builder
	for n := range took[len(took)-1]/step + 1 {
		fmt.Fprintf(&histogram, "\n%5v to %5v %4d %s", n*step, (n+1)*step, counts[n], strings.Repeat("#", counts[n]))
	}
	t.Logf("from the kill of a hub to the last delivery of its accepted events, %d times: median %v, at most %v%s",
		len(took), took[len(took)/2], took[len(took)-1], &histogram)
}
