package menu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestAliasesInMenusNameThePlatform(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "US")
	h.aliases = []core.PlatformAlias{{Alias: "zomato", Platform: "aggregator-a", InEvents: true},
		{Alias: "tasty", Platform: "tasty-eats"}}
	_, plan := h.send("-1", `{"items":[{"ref_id":"tea","title":"Tea","price":2,
		"tags":{"zomato":["hot"],"default":["x"]},"included_platforms":["zomato","aggregator-a","tasty","nowhere"],
		"platform_pricing":[{"platform":"zomato","price":3}],"images":[{"tag":"zomato","url":"https://a.example/1"}]}],
		"options":[{"ref_id":"big","title":"Big","price":1,"images":[{"tag":"tasty","url":"https://a.example/2"}]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1},
			"excluded_platforms":["tasty","web"]}]}`)
	require.Equal(t, []Warning{{"included_platforms", `included_platforms names the platform "nowhere", which this ` +
		`business does not have yet`}}, plan.Outcomes[Items][0].Warnings)
	item := plan.Items[0].Record
	require.JSONEq(t, `{"aggregator-a":["hot"],"default":["x"]}`, string(item.Tags))
	require.JSONEq(t, `["aggregator-a","tasty-eats","nowhere"]`, string(item.IncludedPlatforms))
	require.JSONEq(t, `[{"platform":"aggregator-a","price":3}]`, string(item.PlatformPricing))
	require.JSONEq(t, `[{"tag":"aggregator-a","url":"https://a.example/1"}]`, string(item.Images))
	require.JSONEq(t, `[{"tag":"tasty-eats","url":"https://a.example/2"}]`, string(plan.Options[0].Record.Images))
	require.JSONEq(t, `["tasty-eats","web"]`, string(plan.Charges[0].Record.ExcludedPlatforms))

	_, plan = h.send("-1",
		`{"items":[{"ref_id":"tea","price":2,"platform_pricing":[{"platform":"aggregator-a","price":4}]}]}`)
	require.JSONEq(t, `[{"platform":"aggregator-a","price":4}]`, string(plan.Items[0].Record.PlatformPricing),
		"an alias and the name are one platform")
	_,
		plan = h.send("-1",
		`{"items":[{"ref_id":"tea","price":2,"platform_pricing":[{"platform":"zomato","price":5}]}]}`)
	require.JSONEq(t, `[{"platform":"aggregator-a","price":5}]`, string(plan.Items[0].Record.PlatformPricing))

	read := APIMenu{Items: []APIItem{{Item: plan.Items[0].Record}}}.WithEventNames(
		core.NewPlatformNames(h.platforms, h.aliases...))
	require.JSONEq(t, `["zomato","tasty-eats","nowhere"]`, string(read.Items[0].IncludedPlatforms),
		"only the alias of events is read back")
	require.JSONEq(t, `{"zomato":["hot"],"default":["x"]}`, string(read.Items[0].Tags))
}

func TestOwnNameHasPriorityOverAnAlias(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "US")
	h.aliases = []core.PlatformAlias{{Alias: "a", Platform: "web"}}
	_, plan := h.send("-1", `{"items":[{"ref_id":"tea","title":"Tea","price":2,"tags":{"a":["x"],"web":["y"]},
		"platform_pricing":[{"platform":"a","price":3},{"platform":"web","price":4},{"platform":"app","price":5}],
		"images":[{"tag":"web","url":"https://a.example/1"},{"tag":"a","url":"https://a.example/2"}]}]}`)
	item := plan.Items[0].Record
	require.JSONEq(t, `[{"platform":"app","price":5},{"platform":"web","price":4}]`, string(item.PlatformPricing))
	require.JSONEq(t, `{"web":["y"]}`, string(item.Tags))
	require.JSONEq(t, `[{"tag":"web","url":"https://a.example/1"}]`, string(item.Images))
	const twice = ` names a platform twice; the entry under the alias is left out: "a"`
	require.Equal(t, []Warning{{"images", "images" + twice}, {"tags", "tags" + twice},
		{"platform_pricing", "platform_pricing" + twice}}, plan.Outcomes[Items][0].Warnings)
}

func TestLaterAliasRenamesStoredNames(t *testing.T) {
	rename := core.NewPlatformNames([]string{"web"}, core.PlatformAlias{Alias: "shop", Platform: "web"}).Resolve
	item := Item{Tags: []byte(`{"shop":["x"],"web":["y"]}`), IncludedPlatforms: []byte(`["shop"]`),
		Images:     []byte(`[{"tag":"shop","url":"u"}]`),
		ItemValues: ItemValues{PlatformPricing: []byte(`[{"platform":"shop","price":1},{"platform":"zoo","price":2}]`)}}
	require.True(t, item.RenamePlatforms(rename))
	require.JSONEq(t, `{"web":["y"]}`, string(item.Tags))
	require.JSONEq(t, `["web"]`, string(item.IncludedPlatforms))
	require.JSONEq(t, `[{"platform":"web","price":1},{"platform":"zoo","price":2}]`, string(item.PlatformPricing))
	require.False(t, item.RenamePlatforms(rename), "nothing is left to rename")
	option, charge := Option{Images: []byte(`[{"tag":"shop","url":"u"}]`)},
		Charge{ExcludedPlatforms: []byte(`["shop"]`)}
	require.True(t, option.RenamePlatforms(rename))
	require.JSONEq(t, `[{"tag":"web","url":"u"}]`, string(option.Images))
	require.True(t, charge.RenamePlatforms(rename))
	require.JSONEq(t, `["web"]`, string(charge.ExcludedPlatforms))
}

func TestFindingsUseTheEventAlias(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "US")
	request, plan := h.send("-1", `{"items":[{"ref_id":"tea","title":"Tea","price":2}]}`)
	inspection := Inspection{Platforms: []string{"aggregator-a"},
		Found:    Found{{FoundItem, "tea"}: {{Platform: "aggregator-a", Rule: "nutrition"}}},
		Findings: map[string][]Finding{"tea": {{Platform: "aggregator-a", Rule: "nutrition"}}},
		Names: core.NewPlatformNames(h.platforms,
			core.PlatformAlias{Alias: "zomato", Platform: "aggregator-a", InEvents: true})}
	byIndex, byItem := inspection.forRequest(request, &plan)
	require.Equal(t, "zomato", byIndex[Items][0][0].Platform)
	require.Equal(t, "aggregator-a", byItem[0].Findings[0].Platform, "stored under the platform's own name")
}
