package main

import (
	"encoding/json"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
)

// created is how many objects of the menu an empty catalogue accepts.
func created(t *testing.T, rows menuObjects) (n int) {
	t.Helper()
	vocabulary, err := menu.NewVocabulary()
	require.NoError(t, err)
	request, err := menu.Decode(encode(rows), menu.MasterScope(),
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
	rows, origin := wholeMenu(filepath.Join(t.TempDir(), "missing.json"))
	require.Equal(t, "generated", origin)
	require.Len(t, rows["items"], menu.MaxItems)
	require.Len(t, rows["options"], menu.MaxOptions)
	require.Equal(t, generatedObjects, rows.size())
	require.InDelta(t, 6.7e6, len(encode(rows)), 0.7e6)
	require.Equal(t, rows.size(), created(t, rows))
}

func TestGeneratedMenuKeepsItsProportions(t *testing.T) {
	for _, size := range []int{100, 400, 1600, 6000, 12000} {
		part := generatedMenu(size)
		require.InEpsilon(t, size, part.size(), 0.3)
		require.InDelta(t, 0.8, float64(part.sold().size())/float64(part.size()), 0.1, "the mix of %d", size)
		if size <= 2000 {
			require.Equal(t, part.size(), created(t, part))
		}
	}
}

func TestChangedMenuDiffersInAHundredth(t *testing.T) {
	rows, _ := wholeMenu("")
	differing := func(a, b []object) (n int) {
		for i := range a {
			if a[i]["price"] != b[i]["price"] || a[i]["title"] != b[i]["title"] {
				n++
			}
		}
		return n
	}
	first, second := rows.changed(1), rows.changed(2)
	for _, pair := range [][2]menuObjects{{rows, first}, {first, second}} {
		require.Equal(t, 20, differing(pair[0]["items"], pair[1]["items"]))
		require.Equal(t, 100, differing(pair[0]["options"], pair[1]["options"]))
	}
}

func TestKeyValueGroupsOfPluginsAreDropped(t *testing.T) {
	var item object
	require.NoError(t, json.Unmarshal([]byte(`{"key_value_groups":[{"group":"Servings"},{"group":"Other"}]}`), &item))
	menuObjects{"items": {item}}.keepCoreGroups()
	require.Equal(t, []any{object{"group": "Servings"}}, item["key_value_groups"])
}

func TestStoresAreRepeatedUnderOtherRefs(t *testing.T) {
	body, _ := storeRequest("", mostStores+1)
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
	require.Len(t, refs, mostStores+1)
}

func TestGeneratedOrdersAreValidAndUnique(t *testing.T) {
	refs := map[any]bool{}
	for _, one := range append(orderedMenu()["items"], orderedMenu()["options"]...) {
		refs[one["ref_id"]] = true
	}
	seen := map[core.Identifier]bool{}
	for n := range 600 {
		body := orderBody(n)
		draft, err := order.Decode(body)
		require.NoError(t, err)
		require.InDelta(t, 1200, len(body), 100)
		require.Len(t, draft.Items, 3)
		for _, line := range draft.Items {
			require.True(t, refs[line.RefID] && refs[line.Options[0].RefID], line.RefID)
		}
		seen[draft.PlatformOrderID] = true
	}
	require.Len(t, seen, 600)
}

func TestHostileJSONHasItsSize(t *testing.T) {
	for _, body := range [][]byte{wideJSON(1 << 10), deepJSON(1 << 10)} {
		require.True(t, json.Valid(body), "%s", body)
		require.InDelta(t, 1<<10, len(body), 20)
	}
}

func TestSpreadAddressesAreHostsOfTheirOwn(t *testing.T) {
	hosts := map[string]bool{}
	for i := range crowdBusinesses * crowdEvents {
		address := net.ParseIP(spreadAddress(i))
		require.True(t, address.IsLoopback(), spreadAddress(i))
		hosts[address.String()] = true
	}
	require.Len(t, hosts, crowdBusinesses*crowdEvents)
	require.Equal(t, "http://127.1.0.1:8080/hang",
		(&sink{url: "http://127.0.0.1:8080/hook"}).at(spreadAddress(0), hangPath))
}
