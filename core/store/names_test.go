package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestAliasesInStoresNameThePlatform(t *testing.T) {
	state := State{
		Platforms: []core.Platform{{Name: "a", ServedBy: "aggregator-a"},
			{Name: "web", ServedBy: core.ServedByMerchant}},
		Names: core.NewPlatformNames([]string{"a", "web"},
			core.PlatformAlias{Alias: "zomato", Platform: "a", InEvents: true},
			core.PlatformAlias{Alias: "shop", Platform: "web"}),
		Stores:         map[string]Existing{},
		PlatformStores: map[PlatformStore]string{{"a", "R-9"}: "s9"},
	}
	_, plan := decide(t, `{"stores":[
		{"ref_id":"s1","name":"N","city":"C","included_platforms":["zomato","a","shop","mars"],
			"platform_data":[{"name":"zomato","platform_store_id":"R-1"},{"name":"a","platform_store_id":"R-2"}]},
		{"ref_id":"s2","name":"N","city":"C","excluded_platforms":["zomato"],"included_platforms":["mars"]},
		{"ref_id":"s3","name":"N","city":"C","platform_data":[{"name":"zomato","platform_store_id":"R-9"}]}]}`, state)
	require.Equal(t, []Outcome{
		{"A", 101, "", []core.Warning{
			{Path: "included_platforms",
				Message: `included_platforms names the platform "mars", which this business does ` +
					`not have yet`},
			{Path: "platform_data",
				Message: `platform_data names a platform twice; the entry under the alias is left out: "zomato"`}}},
		{"A", 102, "", nil}, // the unused list gets no warning
		{"A", 0, `platform_data: platform "a" already has store "s9" under the id "R-9"`, nil},
	}, plan.Outcomes)
	first, second := plan.Changes[0].Object, plan.Changes[1].Object
	require.Equal(t, []string{"a", "web", "mars"}, first.IncludedPlatforms)
	require.Equal(t, []PlatformData{{Name: "a", PlatformStoreID: "R-2"}}, first.PlatformData)
	require.Equal(t, []string{"a"}, second.ExcludedPlatforms)
	require.Nil(t, second.IncludedPlatforms)

	stored := Stored{Object: first, ClosedOn: []PlatformClosure{{Platform: "a"}},
		BusyOn: []PlatformBusy{{Platform: "a"}}, PlatformStatus: []PlatformStatus{{Platform: "a"}}}
	read := stored.WithEventNames(state.Names)
	require.Equal(t, []string{"zomato", "web", "mars"}, read.IncludedPlatforms, "only the alias of events")
	require.Equal(t, []PlatformData{{Name: "zomato", PlatformStoreID: "R-2"}}, read.PlatformData)
	require.Equal(t, []string{"zomato", "zomato", "zomato"},
		[]string{read.ClosedOn[0].Platform, read.BusyOn[0].Platform, read.PlatformStatus[0].Platform})
	require.Equal(t, "a", stored.BusyOn[0].Platform, "the stored list is unchanged")
	require.Equal(t, []string{"a", "web", "mars"}, first.IncludedPlatforms, "the stored lists are unchanged")
}

func TestBusinessDecidesWhereNewStoresAreListed(t *testing.T) {
	all := []string{"a", "web"}
	state := State{Names: core.NewPlatformNames(all), Default: ListAll,
		Platforms: []core.Platform{{Name: "a", ServedBy: "aggregator-a"},
			{Name: "web", ServedBy: core.ServedByMerchant}},
		Stores:         map[string]Existing{"old": {ID: 1}},
		PlatformStores: map[PlatformStore]string{{"a", "taken"}: "s9"}}
	request, plan := decide(t, `{"stores":[{"ref_id":"new","name":"N","city":"C"},{"ref_id":"old","name":"N"},
		{"ref_id":"none","name":"N","city":"C","included_platforms":[]},
		{"ref_id":"taken","name":"N","city":"C"}]}`, state)
	require.Equal(t, Stats{Created: 2, Updated: 1, Errors: 1}, plan.Stats)
	listing := func(i int) Listing {
		return Listing{plan.Changes[i].Object.ExcludedPlatforms, plan.Changes[i].Object.IncludedPlatforms}
	}
	require.Equal(t, all, listing(0).Filter(all), "a new store without lists")
	require.Equal(t, Listing{}, listing(1), "an update without lists")
	require.Empty(t, listing(2).Filter(all), "an empty list was sent")
	require.Contains(t, plan.Outcomes[3].Message, `already has store "s9" under the id "taken"`)
	require.Equal(t, []string{"new", "none", "taken"}, request.PlatformStoreIDs(state))
	state.Default = ListNone
	require.Equal(t, []string{"none"}, request.PlatformStoreIDs(state))
}

func TestDefaultListingIsAllOrNone(t *testing.T) {
	for _, text := range []string{"all", "none"} {
		listing, err := ParseDefaultListing(text)
		require.NoError(t, err)
		require.Equal(t, DefaultListing(text), listing)
	}
	_, err := ParseDefaultListing("some")
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.EqualError(t, err, `list-stores must be all or none, not "some"`)
}
