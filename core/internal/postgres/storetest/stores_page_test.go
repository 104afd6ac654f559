package storetest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
)

// The blocks do not include those of the values that the statement returns, only those that it reads for their sizes.
func TestPageSizesItsStoresOnlyAndOnce(t *testing.T) {
	var codes []string
	for n := range 5000 {
		codes = append(codes, strings.Repeat(strconv.Itoa(n)+" ", 30))
	}
	for name, c := range map[string]struct {
		codes                         []string
		stores, fewest, most, buffers int
	}{
		"large stores": {codes, 100, 2, 10, 200}, // 700 KB each, stored compressed
		"small stores": {codes[:1], 1000, 500, 500, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			db := hubtest.Database(t, nil)
			tenant := hubtest.Business(t, db)
			zips, err := json.Marshal(c.codes)
			require.NoError(t, err)
			enqueue(t, db, tenant.ID, fmt.Sprintf(
				`{"stores":[{"ref_id":"s","name":"N","city":"C","zip_codes":%s}]}`, zips))
			runJobs(t, db)
			pgtest.Exec(t, db, `INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active,
					ordering_enabled, zip_codes, created_at, updated_at)
				SELECT business_id, 1000 + n, 's' || n, city, name, hide_from_ui, active, ordering_enabled,
					zip_codes, created_at, updated_at
				FROM stores, generate_series(1, ?) n WHERE business_id = ?`, c.stores, tenant.ID)
			var log statementLog
			log.listen(db)
			page, err := stores.New(db).Page(t.Context(), tenant.ID, "", 500)
			require.NoError(t, err)
			require.True(t, page.More)
			require.LessOrEqual(t, len(page.Stores), c.most)
			require.GreaterOrEqual(t, len(page.Stores), c.fewest)
			var lines []string
			for _, one := range log.statements {
				if strings.Contains(one.text, "zip_codes") && len(lines) == 0 {
					require.NoError(t, one.pool.NewRaw("EXPLAIN (ANALYZE, BUFFERS) "+one.text).
						Scan(t.Context(), &lines))
				}
			}
			plan := strings.Join(lines, "\n")
			hits, err := strconv.Atoi(bufferHits.FindStringSubmatch(plan)[1])
			require.NoError(t, err)
			require.Less(t, hits, c.buffers, plan)
			t.Logf("%d buffers", hits)
		})
	}
}
