package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestMenuSourceEvictsTheLeastRecentlyUsedMenu(t *testing.T) {
	p := newPublishHarness(t)
	source := menus.NewMenuSource(p.db)
	statements := pgtest.Statements(p.db)
	read := func(p *publishHarness, store string) int {
		id, before := p.storeID(store), statements()
		_, err := source.Read(t.Context(), p.business, id, "a")
		require.NoError(t, err)
		return statements() - before
	}
	fresh := read(p, "s1")
	cached := read(p, "s1")
	require.Less(t, cached, fresh)
	for range 5 {
		other := &publishHarness{menuHarness: newMenuHarness(t, p.db, "US")}
		pgtest.Exec(t, p.db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'a', 'aggregator-a')`,
			other.business)
		other.store("s")
		read(other, "s")
		require.Equal(t, cached, read(p, "s1"), "a menu that is published often stays cached")
	}
	pgtest.Exec(t, p.db, `DELETE FROM cache_epochs`)
	require.Equal(t, fresh, read(p, "s1"), "a server that lost transactions may use the version again")
}
