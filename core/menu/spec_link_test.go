package menu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (h *memoryDB) refsOf(kind Kind, relation Relation, from int64) []string {
	a := h.index()
	return a.refIDs(kind, a.to[relation][from])
}

func (h *memoryDB) categoriesOf(item string) []string {
	return h.refsOf(Categories, ItemCategory, h.item(item).ID)
}
func (h *memoryDB) itemsOf(group string) []string {
	return h.refsOf(Items, GroupItem, h.group(group).ID)
}
func (h *memoryDB) groupsOf(option string) []string {
	return h.refsOf(OptionGroups, OptionInGroup, h.option(option).ID)
}
func (h *memoryDB) groupsUnder(option string) []string {
	return h.refsOf(OptionGroups, NestedGroup, h.option(option).ID)
}

func TestMenuAssociationsFollowTheRequest(t *testing.T) {
	menu := `M {"categories":[{"ref_id":"A","name":"a"},{"ref_id":"B","name":"b"}],
		"items":[{"ref_id":"tea","title":"Tea","price":10,"category_ref_ids":["B","A"]},{"ref_id":"cake",` +
		`"title":"Cake","price":20}],
		"option_groups":[{"ref_id":"G","title":"g","item_ref_ids":["tea"]},{"ref_id":"H","title":"h"}],
		"options":[{"ref_id":"soy","title":"Soy","price":1,"opt_grp_ref_ids":["G"],"nested_opt_grps":["H"]}]}`
	runEffects(t, []effectRow{
		{"the order of a list is kept", []string{menu}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, []string{"B", "A"}, h.categoriesOf("tea"))
		}},
		{"category_ref_ids replaces",
			[]string{menu, `M {"items":[{"ref_id":"tea","price":10,"category_ref_ids":["A"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"A"}, h.categoriesOf("tea"))
			}},
		{"a category and an option group may be called all",
			[]string{
				`M {"categories":[{"ref_id":"all","name":"All"}],"option_groups":[{"ref_id":"all","title":"All"}]}`,
				`M {"categories":[{"ref_id":"sub","name":"Sub","parent_ref_id":"all"}],"items":[{"ref_id":"tea",` +
					`"title":"Tea","price":10,"category_ref_ids":["sub"]}],
				"options":[{"ref_id":"soy","title":"Soy","price":1,"opt_grp_ref_ids":["all"]},{"ref_id":"oat",` +
					`"title":"Oat","price":1,"nested_opt_grps":["all"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, [][]string{{"sub"}, {"all"}, {"all"}},
					[][]string{h.categoriesOf("tea"), h.groupsOf("soy"), h.groupsUnder("oat")})
				require.Zero(t, last.Stats[Categories].Errors)
			}},
		{"another order of categories is a change",
			[]string{menu, `M {"items":[{"ref_id":"tea","price":10,"category_ref_ids":["A","B"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"A", "B"}, h.categoriesOf("tea"))
				require.True(t, last.Outcomes[Items][0].Changed)
			}},
		{"category_ref_ids that is not sent leaves them", []string{menu, `M {"items":[{"ref_id":"tea","price":10}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Len(t, h.categoriesOf("tea"), 2)
			}},
		{"an empty category_ref_ids removes them",
			[]string{menu, `M {"items":[{"ref_id":"tea","price":10,"category_ref_ids":[]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.categoriesOf("tea"))
			}},
		{"item_ref_ids of a group adds", []string{menu, `M {"option_groups":[{"ref_id":"G","item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"tea", "cake"}, h.itemsOf("G"))
			}},
		{"opt_grp_ref_ids adds",
			[]string{menu,
				`M {"options":[{"ref_id":"soy","price":1,"opt_grp_ref_ids":["H"],"clear_nested_opt_grps":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"G", "H"}, h.groupsOf("soy"))
			}},
		{"nested_opt_grps adds",
			[]string{menu,
				`M {"option_groups":[{"ref_id":"K","title":"k"}],"options":[{"ref_id":"soy","price":1,` +
					`"nested_opt_grps":["K"]}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"H", "K"}, h.groupsUnder("soy"))
			}},
		{"clear_option_groups removes the item from its groups",
			[]string{menu, `S1{"items":[{"ref_id":"tea","price":10,"clear_option_groups":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Empty(t, h.itemsOf("G"))
				require.True(t, last.Outcomes[Items][0].Changed)
			}},
		{"clear_option_groups and then the group again is no change",
			[]string{menu,
				`M {"items":[{"ref_id":"tea","price":10,"clear_option_groups":true}],"option_groups":[{"ref_id":"G",` +
					`"item_ref_ids":["tea"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea"}, h.itemsOf("G"))
				require.False(t, last.HasChanges())
			}},
		{"clear_items removes all items of the group, then item_ref_ids adds",
			[]string{menu, `M {"option_groups":[{"ref_id":"G","clear_items":true,"item_ref_ids":["cake"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.itemsOf("G"))
			}},
		{"clear_item_ref_ids does the same",
			[]string{menu, `M {"option_groups":[{"ref_id":"G","clear_item_ref_ids":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.itemsOf("G"))
			}},
		{"clear_options removes all options of the group",
			[]string{menu, `M {"option_groups":[{"ref_id":"G","clear_options":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.groupsOf("soy"))
			}},
		{"clear_opt_grps removes all groups of the option",
			[]string{menu, `M {"options":[{"ref_id":"soy","price":1,"clear_opt_grps":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.groupsOf("soy"))
				require.Equal(t, []string{"H"}, h.groupsUnder("soy"))
			}},
		{"clear_opt_grp_ref_ids does the same",
			[]string{menu,
				`M {"options":[{"ref_id":"soy","price":1,"clear_opt_grp_ref_ids":true,"opt_grp_ref_ids":["G"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"G"}, h.groupsOf("soy"))
				require.False(t, last.HasChanges())
			}},
		{"clear_nested_opt_grps removes nested groups",
			[]string{menu, `M {"options":[{"ref_id":"soy","price":1,"clear_nested_opt_grps":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.groupsUnder("soy"))
			}},
		{"the master-only clear flags are warnings at a store",
			[]string{menu,
				`S1{"option_groups":[{"ref_id":"G","clear_items":true,"clear_item_ref_ids":true,` +
					`"clear_options":true},{"ref_id":"H","clear_items":true}],
			"options":[{"ref_id":"soy","price":1,"clear_opt_grps":true,"clear_opt_grp_ref_ids":true,` +
					`"clear_nested_opt_grps":true}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea"}, h.itemsOf("G"))
				require.Equal(t, []string{"G"}, h.groupsOf("soy"))
				require.Equal(t, []string{"H"}, h.groupsUnder("soy"))
				require.Len(t, last.Warnings, 6)
				require.Contains(t, last.Warnings, Warning{"option_groups[].clear_items",
					"clear_items has no effect in a store request: it is for the master catalogue (2 option_groups " +
						"sent)"})
			}},
		{"a group with nothing but unknown items fails",
			[]string{menu, `M {"option_groups":[{"ref_id":"G","item_ref_ids":["none"]},{"ref_id":"H","title":"new"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, `item_ref_ids names the item "none", which does not exist`,
					message(last, OptionGroups, 0))
				require.Equal(t, "g", h.group("G").Title)
				require.Equal(t, "new", h.group("H").Title)
				require.Equal(t, Stats{Updated: 1, Errors: 1}, last.Stats[OptionGroups])
			}},
		{"a reference to an object that failed is unknown",
			[]string{`M {"items":[{"ref_id":"x","price":1}],"option_groups":[{"ref_id":"G","title":"g",` +
				`"item_ref_ids":["x"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "title is required to create an item", message(last, Items, 0))
				require.Contains(t, last.Outcomes[OptionGroups][0].Warnings[0].Message, `"x", which does not exist`)
				require.Empty(t, h.items)
			}},
	})
}

func TestSubCategoriesFollowTheirParent(t *testing.T) {
	tree :=
		`M {"categories":[{"ref_id":"P","name":"p"},{"ref_id":"C","name":"c","parent_ref_id":"P"},{"ref_id":"X",` +
			`"name":"x"}]}`
	runEffects(t, []effectRow{
		{"a parent has sub-categories", []string{tree}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, h.category("P").ID, h.category("C").ParentID)
		}},
		{"a sub-category takes no sub-categories",
			[]string{tree, `M {"categories":[{"ref_id":"X","parent_ref_id":"C"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Categories, 0), `"C", which is a sub-category`)
			}},
		{"a parent takes no parent", []string{tree, `M {"categories":[{"ref_id":"P","parent_ref_id":"X"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Categories, 0), "on a category with sub-categories")
			}},
		{"an unknown parent",
			[]string{`M {"categories":[{"ref_id":"C","name":"c","parent_ref_id":"P"},{"ref_id":"P"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Categories, 0),
					`parent_ref_id names the category "P", which does not exist`)
				require.Nil(t, h.category("C"))
			}},
		{"an empty parent_ref_id makes it a category of its own",
			[]string{tree, `M {"categories":[{"ref_id":"C","parent_ref_id":""},{"ref_id":"P","parent_ref_id":"X"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Zero(t, h.category("C").ParentID)
				require.Equal(t, h.category("X").ID, h.category("P").ParentID)
			}},
		{"items map to the sub-category, not to the parent",
			[]string{tree,
				`M {"items":[{"ref_id":"tea","title":"t","price":1,"category_ref_ids":["P"]},{"ref_id":"cake",` +
					`"title":"c","price":1,"category_ref_ids":["C"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t,
					`category_ref_ids names the category "P", which has sub-categories: use those instead`,
					message(last, Items, 0))
				require.Equal(t, []string{"C"}, h.categoriesOf("cake"))
			}},
		{"a parent whose sub-categories are flushed takes items again",
			[]string{tree,
				`M {"flush_categories":true,"categories":[{"ref_id":"P"}],"items":[{"ref_id":"tea","title":"t",` +
					`"price":1,"category_ref_ids":["P"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Empty(t, message(last, Items, 0))
			}},
		{"name is required on create", []string{`M {"categories":[{"ref_id":"C"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Outcome{Action: "A", Message: "name is required to create a category"},
					last.Outcomes[Categories][0])
			}},
	})
}

func TestNestedOptionGroupsRejectCycles(t *testing.T) {
	groups := `M {"option_groups":[{"ref_id":"A","title":"a"},{"ref_id":"B","title":"b"},{"ref_id":"C","title":"c"}]}`
	under := func(option, group, nested string) string {
		return fmt.Sprintf(`M {"options":[{"ref_id":%q,"title":"x","price":0,"opt_grp_ref_ids":[%q],`+
			`"nested_opt_grps":["%s"]}]}`, option, group, nested)
	}
	flushed := func(request string) string { return strings.Replace(request, "{", `{"flush_options":true,`, 1) }
	runEffects(t, []effectRow{
		{"a group may not be under itself",
			[]string{groups,
				`M {"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["A"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, `nested_opt_grps makes a cycle of option groups: "A" > "A"`, message(last, Options, 0))
			}},
		{"a cycle within one request is named, and only the option that closes it fails",
			[]string{groups, `M {"options":[
			{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]},
			{"ref_id":"y","title":"y","price":0,"opt_grp_ref_ids":["B"],"nested_opt_grps":["C"]},
			{"ref_id":"z","title":"z","price":0,"opt_grp_ref_ids":["C"],"nested_opt_grps":["A"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t,
					`nested_opt_grps makes a cycle of option groups: "C" > "A" > "B" (by option "x") > "C" (by `+
						`option "y")`,
					message(last, Options, 2))
				require.Equal(t, Stats{Created: 2, Errors: 1}, last.Stats[Options])
				require.Nil(t, h.option("z"))
			}},
		{"a cycle over several requests, closed by a new membership", []string{groups,
			`M {"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]}]}`,
			`M {"options":[{"ref_id":"y","title":"y","price":0,"nested_opt_grps":["A"]}]}`,
			`M {"options":[{"ref_id":"y","price":0,"opt_grp_ref_ids":["B"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, `opt_grp_ref_ids makes a cycle of option groups: "B" > "A" > "B" (by option "x")`,
					message(last, Options, 0))
			}},
		{"what is cleared closes no cycle", []string{groups,
			`M {"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]}]}`,
			`M {"options":[{"ref_id":"x","price":0,"clear_nested_opt_grps":true,"nested_opt_grps":["C"]},` +
				`{"ref_id":"y","title":"y","price":0,"opt_grp_ref_ids":["B"],"nested_opt_grps":["A"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Options])
			}},
		{"an option that left its group leads nowhere from it", []string{groups,
			`M {"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]}]}`,
			`M {"options":[{"ref_id":"x","price":0,"clear_opt_grps":true},{"ref_id":"y","title":"y","price":0,` +
				`"opt_grp_ref_ids":["B"],"nested_opt_grps":["A"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Options])
		}},
		{"an option that goes over to another group closes no cycle with the one it leaves", []string{groups,
			`M {"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]}]}`,
			`M {"options":[{"ref_id":"x","price":0,"clear_opt_grps":true,"opt_grp_ref_ids":["C"],` +
				`"clear_nested_opt_grps":true,"nested_opt_grps":["A"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, Stats{Updated: 1}, last.Stats[Options])
			require.Equal(t, []string{"C"}, h.groupsOf("x"))
		}},
		{"an option that changes sides closes no cycle with what it was", []string{groups, under("x", "A", "B"),
			`M {"options":[{"ref_id":"x","price":0,"clear_opt_grps":true,"opt_grp_ref_ids":["B"],` +
				`"clear_nested_opt_grps":true,"nested_opt_grps":["A"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, Stats{Updated: 1}, last.Stats[Options], message(last, Options, 0))
			require.Equal(t, [][]string{{"B"}, {"A"}}, [][]string{h.groupsOf("x"), h.groupsUnder("x")})
		}},
		{"an option that the flush of the request takes out gives way",
			[]string{groups, under("x", "A", "B"), flushed(under("z", "B", "A"))},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Created: 1, Deleted: 1}, last.Stats[Options], message(last, Options, 0))
				require.Equal(t, [][]string{{"A"}, {}, {"A"}},
					[][]string{h.groupsOf("x"), h.groupsUnder("x"), h.groupsUnder("z")})
				require.Equal(t, []Warning{{"options[].nested_opt_grps",
					`nested_opt_grps of "x", which is inactive,` +
						` are cleared: with those of "z" they would create a cycle of option groups`}}, last.Warnings)
			}},
		{"one that was flushed gives way, with all its nested groups, and is enabled without them",
			[]string{groups, under("x", "A", `B","C`), flushed(`M {"options":[]}`),
				under("y", "C", "B"), under("z", "B", "A"),
				`M {"options":[{"ref_id":"x","price":0,"available":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, [][]string{{"A"}, {}, {"B"}, {"A"}},
					[][]string{h.groupsOf("x"), h.groupsUnder("x"), h.groupsUnder("y"), h.groupsUnder("z")})
				require.True(t, h.option("x").Active)
			}},
		{"one that was flushed keeps nested groups that close no cycle",
			[]string{groups, under("x", "A", "B"), flushed(`M {"options":[]}`),
				under("z", "B", "C"), `S1{"options":[{"ref_id":"x","price":0,"available":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, [][]string{{"B"}, {"C"}}, [][]string{h.groupsUnder("x"), h.groupsUnder("z")})
			}},
		{"one that is named by the request that would take it out does not give way",
			[]string{groups, under("x", "A", "B"), flushed(`M {"options":[]}`),
				`M {"options":[{"ref_id":"z","title":"z","price":0,"opt_grp_ref_ids":["B"],"nested_opt_grps":["A"]},` +
					`{"ref_id":"x","price":0,"available":true}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, `nested_opt_grps makes a cycle of option groups: "B" > "A" > "B" (by option "x")`,
					message(last, Options, 0))
				require.Equal(t, []string{"B"}, h.groupsUnder("x"))
			}},
		{"what closes a cycle with others too takes nothing from one that is not active",
			[]string{groups, under("x", "A", "B"), flushed(`M {"options":[]}`),
				under("y", "A", "B"), under("z", "B", "A")}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Options, 0), `"B" (by option "y")`)
				require.Equal(t, []string{"B"}, h.groupsUnder("x"))
			}},
		{"multi_options_enabled against what is stored",
			[]string{`M {"option_groups":[{"ref_id":"A","title":"a","min_selectable":1,"max_selectable":1}]}`,
				`M {"option_groups":[{"ref_id":"A","multi_options_enabled":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, OptionGroups, 0), "multi_options_enabled is not supported")
			}},
		{"defaults of a group: 0 and any number", []string{groups}, func(t *testing.T, h *memoryDB, _ Plan) {
			g := h.group("A")
			require.Equal(t, []any{int64(0), int64(-1), true}, []any{g.MinSelectable, g.MaxSelectable, g.Active})
		}},
	})
}
