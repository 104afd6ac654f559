package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// decodedMenu reads the menu as the hub does.
func decodedMenu(t *testing.T, rows *menuRows) menu.Request {
	t.Helper()
	vocabulary, err := menu.NewVocabulary()
	require.NoError(t, err)
	body, err := rows.body()
	require.NoError(t, err)
	request, err := menu.Decode(body, menu.MasterScope(), menu.Rulebook{Vocabulary: vocabulary}.Of(core.Business{Country: menuCountry}))
	require.NoError(t, err)
	return request
}

// created is how many objects of the menu an empty catalogue takes in.
func created(t *testing.T, rows *menuRows) (n int) {
	t.Helper()
	var id int64
	plan := menu.Decide(decodedMenu(t, rows), menu.State{Platforms: []string{"web", "app"}}, func() int64 { id++; return id })
	for kind, stats := range plan.Stats {
		for i, outcome := range plan.Outcomes[kind] {
			require.Empty(t, outcome.Message, "%s[%d]", menu.Kind(kind), i)
		}
		n += stats.Created
	}
	return n
}

func TestGeneratedMenuIsAsLargeAsMayBe(t *testing.T) {
	rows, origin, err := readMenu(filepath.Join(t.TempDir(), "missing.json"))
	require.NoError(t, err)
	require.Equal(t, "generated", origin)
	require.Len(t, rows.Items, menu.MaxItems)
	require.Len(t, rows.Options, menu.MaxOptions)
	body, err := rows.body()
	require.NoError(t, err)
	require.InDelta(t, 6.7e6, len(body), 0.7e6)
	require.Equal(t, rows.objects(), created(t, rows))
}

func TestCutMenuHoldsTogether(t *testing.T) {
	rows, _, err := readMenu("")
	require.NoError(t, err)
	for _, size := range menuSizes {
		part := rows.cut(size)
		require.InEpsilon(t, size, part.objects(), 0.3)
		if size <= 2000 { // the whole menu is taken in elsewhere
			require.Equal(t, part.objects(), created(t, part), "all that it refers to is in it")
		}
		require.InDelta(t, 0.8, float64(len(part.Items)+len(part.Options))/float64(part.objects()), 0.1, "the mix of %d", size)
	}
	require.Same(t, rows, rows.cut(rows.objects()))
	require.Equal(t, len(rows.Items), len(itemsOnce(rows)))
}

// itemsOnce is the items in the order in which a cut takes them.
func itemsOnce(rows *menuRows) map[int]bool {
	places, step := map[int]bool{}, stride(len(rows.Items))
	for i := range rows.Items {
		places[i*step%len(rows.Items)] = true
	}
	return places
}

func TestChangedMenuDiffersInAHundredth(t *testing.T) {
	rows, _, err := readMenu("")
	require.NoError(t, err)
	differing := func(a, b []menuRow) (n int) {
		for i := range a {
			if string(a[i]["price"]) != string(b[i]["price"]) || a[i].text("title") != b[i].text("title") {
				n++
			}
		}
		return n
	}
	first, second := rows.changed(1), rows.changed(2)
	for _, pair := range [][2]*menuRows{{rows, first}, {first, second}} {
		require.Equal(t, 20, differing(pair[0].Items, pair[1].Items))
		require.Equal(t, 100, differing(pair[0].Options, pair[1].Options))
	}
}

func TestKeyValueGroupsOfPluginsAreDropped(t *testing.T) {
	row := menuRow{"ref_id": []byte(`"a"`), "key_value_groups": []byte(`[{"group":"Servings","key_value_data":[]},{"group":"Other"}]`)}
	require.NoError(t, row.keepCoreGroups())
	require.JSONEq(t, `[{"group":"Servings","key_value_data":[]}]`, string(row["key_value_groups"]))
}
