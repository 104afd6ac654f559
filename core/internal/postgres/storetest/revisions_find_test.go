package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
)

// insertRevisions gives a business n revisions of other items and stores, older than its own.
func insertRevisions(t *testing.T, db *postgres.DB, business core.BusinessID, n int) {
	t.Helper()
	day := core.FirstID(db.Clock().Now().Add(-time.Hour)).String()[:13]
	pgtest.Exec(t, db, `INSERT INTO revisions (business_id, id, reference, kind, subject, actor, at)
		SELECT ?0, (?1 || '-7' || lpad(to_hex(g / 4096), 3, '0') || '-8' || lpad(to_hex(g % 4096), 3,
		'0') || '-000000000000')::uuid, gen_random_uuid(), 'menu', 'x', '', now() FROM generate_series(1, ?2) g`,
		business, day, n)
	pgtest.Exec(t, db,
		`INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
		SELECT business_id, id, 'store_overrides', 1, 1000000 + row_number() OVER () % 500, false,
		ARRAY[row_number() OVER () + 5000000], '[{}]' FROM revisions WHERE business_id = ? AND subject = 'x'`, business)
	pgtest.Exec(t, db, `ANALYZE revisions`)
	pgtest.Exec(t, db, `ANALYZE revision_parts`)
}

func TestRevisionsOfAnObjectAreFoundByIndex(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	k.send("-1", dinner)
	k.send("s1", `{"items":[{"ref_id":"curry","price":7}]}`)
	insertRevisions(t, k.db, k.business, 20_000)
	for _, c := range []struct {
		filter menu.RevisionFilter
		found  int
		by     string
	}{
		{menu.RevisionFilter{Entity: "items", RefID: "curry"}, 2, "Index Cond: (ids &&"},
		{menu.RevisionFilter{Entity: "stores", RefID: "s1"}, 1, "_table_name_n_idx"},
		{menu.RevisionFilter{Location: "s1"}, 1, "store_id ="},
	} {
		plan := pgtest.Plan(t, k.db, "FROM revision_parts p", func() { require.Len(t, k.revisions(c.filter), c.found) })
		require.Contains(t, plan, c.by)
		require.NotContains(t, plan, "Seq Scan on revision_parts_"+clock.Now().Format("20060102"))
	}
}

func TestRevisionsNameTheChangedObjects(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.send("-1", `{"items":[{"ref_id":"dal","title":"Dal","price":5},{"ref_id":"rice","title":"Rice","price":2}]}`)
	first := k.revisions(menu.RevisionFilter{})[0]
	k.send("-1",
		`{"categories":[{"ref_id":"mains","name":"Mains"}],"items":[{"ref_id":"dal","title":"Dal","price":6,`+
			`"category_ref_ids":["mains"]}]}`)
	k.send("s1", `{"items":[{"ref_id":"rice","price":3},{"ref_id":"naan","title":"Naan","price":1}]}`)
	menus := menusdb.New(k.db)
	undoing, err := menus.PreviewRollback(context.Background(), k.business, first.ID)
	require.NoError(t, err)
	all := k.revisions(menu.RevisionFilter{})
	require.Equal(t, menu.RollbackPreview{Objects: menu.PerKind[int]{menu.Categories: 1, menu.Items: 3},
		Names:  menu.PerKind[[]string]{menu.Categories: {"mains"}, menu.Items: {"dal", "naan", "rice"}},
		Latest: all[0].ID},
		undoing, "each object counts once")
	require.Equal(t, 4, undoing.Count())

	names := func() (list [][]string) {
		all := k.revisions(menu.RevisionFilter{})
		ids := make([]core.ID, len(all))
		for i, r := range all {
			ids[i] = r.ID
		}
		found, err := menus.FirstNames(context.Background(), k.business, ids)
		require.NoError(t, err)
		for _, id := range ids {
			list = append(list, found[id])
		}
		return list
	}
	require.Equal(t, [][]string{{"naan", "rice"}, {"dal", "mains"}, {"dal", "rice"}, {"s1"}}, names())
	k.rollBack(first.ID)
	require.Equal(t, []string{"naan"}, names()[1][:1], "also deleted objects")
	undoing, err = menus.PreviewRollback(context.Background(), k.business, k.revisions(menu.RevisionFilter{})[0].ID)
	require.NoError(t, err)
	require.Zero(t, undoing.Count(), "nothing came after it")
	require.NotZero(t, undoing.Latest)

	otherBusiness := newMenuHarness(t, k.db, "US")
	_, err = menus.PreviewRollback(context.Background(), otherBusiness.business, first.ID)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	foreign, err := menus.FirstNames(context.Background(), otherBusiness.business, []core.ID{first.ID})
	require.NoError(t, err)
	require.Empty(t, foreign)
}
