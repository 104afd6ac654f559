package requests

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// created is how many objects of the menu an empty catalogue accepts.
func created(t *testing.T, rows Menu) (n int) {
	t.Helper()
	vocabulary, err := menu.NewVocabulary()
	require.NoError(t, err)
	request, err := menu.Decode(Encode(rows), menu.MasterScope(),
		menu.IngestPolicy{Vocabulary: vocabulary}.RulesFor(core.Business{Country: "IN"}))
	require.NoError(t, err)
	var id int64
	state := menu.State{Names: core.NewPlatformNames([]string{"web", "app"})}
	plan := menu.Decide(request, state, func() int64 { id++; return id })
	for kind, stats := range plan.Stats {
		for i, outcome := range plan.Outcomes[kind] {
			require.Empty(t, outcome.Message, "%s[%d]", menu.Kind(kind), i)
		}
		n += stats.Created
	}
	return n
}

func TestGeneratedMenuHasTheMaximumSize(t *testing.T) {
	_, err := WholeMenu(filepath.Join(t.TempDir(), "missing.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	rows, err := WholeMenu("")
	require.NoError(t, err)
	require.Len(t, rows["items"], menu.MaxItems)
	require.Len(t, rows["options"], menu.MaxOptions)
	require.Equal(t, MenuObjects, rows.Size())
	require.InDelta(t, 6.7e6, len(Encode(rows)), 0.7e6)
	require.Equal(t, rows.Size(), created(t, rows))
}

func TestGeneratedMenuKeepsItsProportions(t *testing.T) {
	for _, size := range []int{100, 400, 1600, 6000, 12000} {
		part := NewMenu(size)
		require.InEpsilon(t, size, part.Size(), 0.3)
		require.InDelta(t, 0.8, float64(part.Sold().Size())/float64(part.Size()), 0.1, "the mix of %d", size)
		if size <= 2000 {
			require.Equal(t, part.Size(), created(t, part))
		}
	}
}

func TestChangedMenuDiffersInAHundredth(t *testing.T) {
	rows := NewMenu(MenuObjects)
	differing := func(a, b []Object) (n int) {
		for i := range a {
			if a[i]["price"] != b[i]["price"] || a[i]["title"] != b[i]["title"] {
				n++
			}
		}
		return n
	}
	first, second := rows.Changed(1), rows.Changed(2)
	for _, pair := range [][2]Menu{{rows, first}, {first, second}} {
		require.Equal(t, 20, differing(pair[0]["items"], pair[1]["items"]))
		require.Equal(t, 100, differing(pair[0]["options"], pair[1]["options"]))
	}
}

func TestKeyValueGroupsOfPluginsAreDropped(t *testing.T) {
	var item Object
	require.NoError(t, json.Unmarshal([]byte(`{"key_value_groups":[{"group":"Servings"},{"group":"Other"}]}`), &item))
	Menu{"items": {item}}.keepCoreGroups()
	require.Equal(t, []any{Object{"group": "Servings"}}, item["key_value_groups"])
}

func TestStoresAreRepeatedUnderOtherRefs(t *testing.T) {
	body, err := Stores("", MaxStores+1)
	require.NoError(t, err)
	var request struct {
		Stores []struct {
			RefID string `json:"ref_id"`
		}
	}
	require.NoError(t, json.Unmarshal(body, &request))
	refs := map[string]bool{}
	for _, store := range request.Stores {
		refs[store.RefID] = true
	}
	require.Len(t, refs, MaxStores+1)
}
