package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestPlatformStoreIDsAreUniquePerPlatform(t *testing.T) {
	state := State{
		Platforms: []core.Platform{{Name: "a", ServedBy: "aggregator-a"},
			{Name: "web", ServedBy: core.ServedByMerchant}},
		Stores: map[string]Existing{
			"s1": {ID: 1, Listing: Listing{Included: []string{"a"}},
				PlatformData: []PlatformData{{Name: "a", PlatformStoreID: "R-1"}}},
			"s2": {ID: 2, Listing: Listing{Included: []string{"a"}},
				PlatformData: []PlatformData{{Name: "a", PlatformStoreID: "R-2"}}},
			"s6": {ID: 6, PlatformData: []PlatformData{{Name: "a", PlatformStoreID: "R-7"}}},
			"s3": {ID: 3, Listing: Listing{Included: []string{"web"}}},
		},
		PlatformStores: map[PlatformStore]string{{"a", "R-9"}: "s9", {"a", "s3"}: "s8"},
		TakenElsewhere: map[PlatformStore]bool{{"a", "R-7"}: true},
	}
	id := func(ref, id string) string {
		return `{"ref_id":"` + ref + `","name":"N","city":"C","platform_data":[{"name":"a","platform_store_id":"` + id +
			`"},{"name":"web","platform_store_id":"R-9"}]}`
	}
	by := func(other, id string) string {
		return `platform_data: platform "a" already has store "` + other + `" under the id "` + id + `"`
	}
	for name, c := range map[string]struct {
		stores string
		wrong  []string
	}{
		"another's id": {id("s1", "R-9"), []string{by("s9", "R-9")}},
		"its own id":   {id("s1", "R-1"), []string{""}},
		"another business's id": {id("s1", "R-7"),
			[]string{`platform_data: the platform_store_id "R-7" of platform "a" ` + BelongsElsewhere}},
		"another business's id when it becomes active": {`{"ref_id":"s6","active":true}`,
			[]string{`platform_data: the platform_store_id "R-7" of platform "a" ` + BelongsElsewhere}},
		"an unchanged id of an inactive store": {`{"ref_id":"s6","platform_data":[{"name":"a",` +
			`"platform_store_id":"R-7"}]}`, []string{""}},
		"the id of another in the request": {id("s1", "R-2") + `,{"ref_id":"s2","name":"Other"}`,
			[]string{by("s2", "R-2"), ""}},
		"an id that another releases": {id("s1", "R-2") + "," + id("s2", "R-3"), []string{"", ""}},
		"two that exchange ids":       {id("s1", "R-2") + "," + id("s2", "R-1"), []string{"", ""}},
		"a rejected store keeps its id": {id("s1", "R-2") + "," + id("s2", "R-9"),
			[]string{by("s2", "R-2"), by("s9", "R-9")}},
		"an id sent twice": {id("s1", "R-3") + "," + id("s2", "R-3"), []string{"", by("s1", "R-3")}},
		"a new store's":    {id("s4", "R-9"), []string{by("s9", "R-9")}},
		"another's ref_id": {id("s4", "s5") +
			`,{"ref_id":"s5","name":"N","city":"C","included_platforms":["a"]}`, []string{"", by("s4", "s5")}},
		"the ref_id of an unlisted store": {id("s4", "s5") + `,{"ref_id":"s5","name":"N","city":"C"}`,
			[]string{"", ""}},
		"its ref_id when it becomes listed": {`{"ref_id":"s3","excluded_platforms":[]}`, []string{by("s8", "s3")}},
		"an id instead of its ref_id": {`{"ref_id":"s3","excluded_platforms":[],` +
			`"platform_data":[{"name":"a","platform_store_id":"R-3"}]}`, []string{""}},
		"its ref_id instead of an id": {`{"ref_id":"s2","platform_data":[]},` + id("s1", "s2"),
			[]string{"", by("s2", "s2")}},
	} {
		_, plan := decide(t, `{"stores":[`+c.stores+`]}`, state)
		var wrong []string
		for _, outcome := range plan.Outcomes {
			wrong = append(wrong, outcome.Message)
		}
		require.Equal(t, c.wrong, wrong, name)
	}
}
