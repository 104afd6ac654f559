package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

// BenchmarkConsoleLists reads lists of a business with a million deliveries and calls. It searches a text that none of
// a hundred thousand payloads has.
func BenchmarkConsoleLists(b *testing.B) {
	db := hubtest.Database(b, nil)
	business := hubtest.Business(b, db).ID
	pgtest.Exec(b, db, unchecked)
	for _, table := range []string{"deliveries", "calls"} {
		for from := 1; from < manyRows; from += 100_000 {
			pgtest.Exec(b, db, listRows[table]+fmt.Sprintf(" generate_series(%d, %d) n", from, from+99_999), business)
		}
	}
	pgtest.Exec(b, db, `INSERT INTO events (business_id, id, event_type, body)
		SELECT ?0, `+idOfRow+`, 'order_placed', convert_to('{"n":"' || n || repeat(md5(n::text), 40) || '"}', 'UTF8')
		FROM generate_series(900001, 1000000) n`, business)
	pgtest.Exec(b, db, "ANALYZE deliveries, calls, events")
	read, history := consolelists.New(db), deliveries.New(db)
	from := time.Now().Add(-7 * 24 * time.Hour)
	for name, list := range map[string]func() (int, error){
		"newest": func() (int, error) {
			found, err := history.List(b.Context(), business, webhook.Filter{From: from, Limit: 51})
			return len(found), err
		},
		"latest failure": func() (int, error) {
			found, err := history.List(b.Context(), business, webhook.Filter{From: from, OfFailure: true,
				Sort: webhook.LatestFailure, Limit: 51})
			return len(found), err
		},
		"status": func() (int, error) {
			found, err := history.List(b.Context(), business, webhook.Filter{From: from, Status: 503, Limit: 51})
			return len(found), err
		},
		"count": func() (int, error) {
			n, _, err := history.CountUpTo(b.Context(), business,
				webhook.Selector{State: webhook.Delivered, To: time.Now(), EndedBy: time.Now()})
			return n, err
		},
		"calls": func() (int, error) {
			found, err := read.ListCalls(b.Context(), business, console.CallFilter{From: from, Limit: 51})
			return len(found), err
		},
		"search": func() (int, error) {
			_, progress, err := read.SearchDeliveries(b.Context(), business, webhook.Filter{From: from, Limit: 50},
				"nothing of it")
			return progress.Searched, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				n, err := list()
				require.NoError(b, err)
				require.Positive(b, n)
				rows = n
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
}
