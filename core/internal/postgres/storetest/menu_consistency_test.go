package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/menu"
)

// requireConsistent checks that a store's menu has no dangling references, and that its effective
// menu contains nothing that the read-back lacks.
func requireConsistent(t require.TestingT, k *menuHarness, ref string) {
	records := menus.New(k.db)
	_, scope, err := records.ResolveLocation(context.Background(), k.business, ref)
	require.NoError(t, err)
	m, err := records.Menu(context.Background(), k.business, scope.StoreID)
	require.NoError(t, err)
	exists := menu.PerKind[map[int64]bool]{
		exist(m.Categories, func(c menu.Category) int64 { return c.ID }),
		exist(m.Items, func(i menu.Item) int64 { return i.ID }),
		exist(m.OptionGroups, func(g menu.OptionGroup) int64 { return g.ID }),
		exist(m.Options, func(o menu.Option) int64 { return o.ID }),
		exist(m.Taxes, func(x menu.Tax) int64 { return x.ID }),
		exist(m.Charges, func(c menu.Charge) int64 { return c.ID }),
	}
	ends := menu.PerRelation[[2]menu.Kind]{
		menu.ItemCategory: {menu.Items, menu.Categories}, menu.GroupItem: {menu.OptionGroups, menu.Items},
		menu.OptionInGroup: {menu.Options, menu.OptionGroups}, menu.NestedGroup: {menu.Options, menu.OptionGroups},
		menu.TaxItem: {menu.Taxes, menu.Items}, menu.ChargeItem: {menu.Charges, menu.Items},
	}
	for relation, links := range m.Links {
		for _, link := range links {
			require.True(t, exists[ends[relation][0]][link.From] &&
				exists[ends[relation][1]][link.To], "relation %d: %+v", relation, link)
		}
	}
	rates := map[string]core.Amount{}
	for _, tax := range m.Taxes {
		for _, link := range m.Links[menu.TaxItem] {
			if link.From == tax.ID {
				name := fmt.Sprint(tax.Code, " of item ", link.To)
				require.NotContains(t, rates, name, "two rates")
				rates[name] = *tax.Structure.Value
			}
		}
	}
	for _, c := range m.Categories {
		require.True(t, c.ParentID == 0 || exists[menu.Categories][c.ParentID], "the parent of %s", c.RefID)
	}
	here := menu.PerKind[map[int64]bool]{
		menu.Categories: exist(m.Store.Categories, func(id int64) int64 { return id }),
		menu.Items:      exist(m.Store.Items, func(i menu.AtStore[menu.ItemValues]) int64 { return i.ID }),
		menu.Options:    exist(m.Store.Options, func(o menu.AtStore[menu.OptionValues]) int64 { return o.ID }),
	}
	for kind, ids := range here {
		require.Subset(t, slices.Collect(maps.Keys(exists[kind])), slices.Collect(maps.Keys(ids)), "%s at the store",
			menu.Kind(kind))
	}
	requireVisibleIsOrderable(t, k, ref)
}

func exist[R any](records []R, id func(R) int64) map[int64]bool {
	ids := map[int64]bool{}
	for _, record := range records {
		ids[id(record)] = true
	}
	return ids
}

func requireVisibleIsOrderable(t require.TestingT, k *menuHarness, ref string) {
	sold := k.reading(ref)
	for _, platform := range []string{"web", "app", "aggregator-a", "aggregator-b"} {
		seen := k.effective(ref, platform)
		items, options := exist(sold.Items, func(i menu.APIItem) int64 { return i.ID }),
			exist(sold.Options, func(o menu.APIOption) int64 { return o.ID })
		groups := exist(sold.OptionGroups, func(g menu.APIOptionGroup) int64 { return g.ID })
		for _, item := range seen.Items {
			require.True(t, items[item.ID], "%s on %s is not sold at %s", item.RefID, platform, ref)
		}
		for _, option := range seen.Options {
			require.True(t, options[option.ID], "%s on %s is not sold at %s", option.RefID, platform, ref)
		}
		for _, group := range seen.OptionGroups {
			require.True(t, groups[group.ID], "%s on %s is not at %s", group.RefID, platform, ref)
		}
	}
}
