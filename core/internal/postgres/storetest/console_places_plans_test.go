package storetest

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
)

func TestPlacesReadFewItemsOfEachStore(t *testing.T) {
	const stores, rowsOfStore = 300, 48
	k := newChain(t, stores)
	read := consolemenus.New(k.db)
	items, err := read.ListItems(t.Context(), k.business, console.ItemFilter{Limit: 1})
	require.NoError(t, err)
	var log statementLog
	log.listen(k.db)
	statements := func() []poolStatement {
		log.statements = nil
		_, err := read.Grid(t.Context(), k.business, console.GridFilter{Local: noon, Limit: 51})
		require.NoError(t, err)
		_, _, err = read.ItemPlaces(t.Context(), k.business, items[0], console.ItemPlaceFilter{Local: noon, Limit: 51})
		require.NoError(t, err)
		_, err = read.StoreOffers(t.Context(), k.business, 1)
		require.NoError(t, err)
		return log.statements
	}
	first := 0
	for _, one := range statements() {
		first += rowsOn(t, k.db, "on store_overrides", one.text)
	}
	require.Greater(t, first, stores)
	require.Less(t, first, stores*rowsOfStore, "stores that sell an item are not read whole")
	later := 0
	for _, one := range statements() {
		later += rowsOn(t, k.db, "on store_overrides", one.text)
	}
	require.Positive(t, later)
	require.Less(t, later, 51+3*rowsOfStore, "a later page reads the items of the stores that it shows")
}

var (
	nodeRows    = regexp.MustCompile(`rows=(\d+)(?:\.\d+)? loops=(\d+)`)
	removedRows = regexp.MustCompile(`Rows Removed by Filter: (\d+)`)
)

// rowsOn returns how many rows the nodes of a statement's plan with a text read.
func rowsOn(t *testing.T, db *postgres.DB, nodes, statement string) (rows int) {
	t.Helper()
	setup, query := "", statement
	if at := strings.Index(query, ";"); strings.HasPrefix(query, "SET LOCAL ROLE") {
		at += 1 + strings.Index(query[at+1:], ";")
		setup, query = query[:at+1], strings.TrimSpace(query[at+1:])
	}
	if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "WITH") {
		return 0
	}
	var lines []string
	require.NoError(t, db.Bun().NewRaw(setup+"EXPLAIN (ANALYZE, TIMING off) "+query).Scan(context.Background(),
		&lines), query)
	for _, node := range strings.Split(strings.Join(lines, "\n"), "->") {
		found := nodeRows.FindStringSubmatch(node)
		if !strings.Contains(strings.SplitN(node, "\n", 2)[0], nodes) || found == nil {
			continue
		}
		number := func(s string) int {
			n, err := strconv.Atoi(s)
			require.NoError(t, err)
			return n
		}
		each := number(found[1])
		if removed := removedRows.FindStringSubmatch(node); removed != nil {
			each += number(removed[1])
		}
		rows += each * number(found[2])
	}
	return rows
}
