package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestPlatformStoreIDsAreUniquePerPlatform(t *testing.T) {
	known := State{
		Platforms: []core.Platform{{Name: "a", ServedBy: "aggregator-a"}, {Name: "web", ServedBy: core.ServedByMerchant}},
		Stores: map[string]Existing{
			"s1": {ID: 1, Listing: Listing{Included: []string{"a"}},
				PlatformData: []PlatformData{{Name: "a", PlatformStoreID: "R-1"}}},
			"s2": {ID: 2, Listing: Listing{Included: []string{"a"}},
				PlatformData: []PlatformData{{Name: "a", PlatformStoreID: "R-2"}}},
			"s3": {ID: 3, Listing: Listing{Included: []string{"web"}}},
		},
		PlatformStores: map[PlatformStore]string{{"a", "R-9"}: "s9", {"a", "s3"}: "s8"},
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
		"another's id":       {id("s1", "R-9"), []string{by("s9", "R-9")}},
		"the id that it has": {id("s1", "R-1"), []string{""}},
		"the id of another of the request": {id("s1", "R-2") + `,{"ref_id":"s2","name":"Other"}`,
			[]string{by("s2", "R-2"), ""}},
		"one that another gives up": {id("s1", "R-2") + "," + id("s2", "R-3"), []string{"", ""}},
		"two that change places":    {id("s1", "R-2") + "," + id("s2", "R-1"), []string{"", ""}},
		"who is refused keeps its own": {id("s1", "R-2") + "," + id("s2", "R-9"),
			[]string{by("s2", "R-2"), by("s9", "R-9")}},
		"one that is given twice": {id("s1", "R-3") + "," + id("s2", "R-3"), []string{"", by("s1", "R-3")}},
		"a new store's":           {id("s4", "R-9"), []string{by("s9", "R-9")}},
		"another's ref_id": {id("s4", "s5") +
			`,{"ref_id":"s5","name":"N","city":"C","included_platforms":["a"]}`, []string{"", by("s4", "s5")}},
		"that of one which is not listed there": {id("s4", "s5") + `,{"ref_id":"s5","name":"N","city":"C"}`,
			[]string{"", ""}},
		"one's own ref_id, once listed there": {`{"ref_id":"s3","excluded_platforms":[]}`, []string{by("s8", "s3")}},
		"an id in the place of one's ref_id": {`{"ref_id":"s3","excluded_platforms":[],` +
			`"platform_data":[{"name":"a","platform_store_id":"R-3"}]}`, []string{""}},
		"the ref_id in the place of one's id": {`{"ref_id":"s2","platform_data":[]},` + id("s1", "s2"),
			[]string{"", by("s2", "s2")}},
	} {
		_, plan := decide(t, `{"stores":[`+c.stores+`]}`, known)
		var wrong []string
		for _, outcome := range plan.Outcomes {
			wrong = append(wrong, outcome.Message)
		}
		require.Equal(t, c.wrong, wrong, name)
	}
}
