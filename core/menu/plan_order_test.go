package menu

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParentsMayFollowTheirSubCategories(t *testing.T) {
	of := func(categories ...string) string { return `M {"categories":[` + strings.Join(categories, ",") + `]}` }
	const p, x, c = `{"ref_id":"P","name":"p"}`, `{"ref_id":"X","name":"x"}`, `{"ref_id":"C","name":"c",` +
		`"parent_ref_id":"P"}`
	runEffects(t, []effectRow{
		{"a sub-category before its parent, with an item", []string{`M {"items":[{"ref_id":"tea","title":"t",` +
			`"price":1,` +
			`"category_ref_ids":["C"]}],"categories":[` + c + "," + p + `]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, h.category("P").ID, h.category("C").ParentID)
				require.Equal(t, []string{"C"}, h.categoriesOf("tea"))
				require.Equal(t, []string{"C", "P"},
					[]string{last.Categories[1].Record.RefID, last.Categories[0].Record.RefID})
			}},
		{"a category becomes a sub-category before its own leave it",
			[]string{of(p, x, c), of(`{"ref_id":"P","parent_ref_id":"X"}`, `{"ref_id":"C","parent_ref_id":""}`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Updated: 2}, last.Stats[Categories])
				require.Equal(t, h.category("X").ID, h.category("P").ParentID)
				require.Zero(t, h.category("C").ParentID)
			}},
		{"a parent and its sub-category change places",
			[]string{of(p, c), of(`{"ref_id":"P","parent_ref_id":"C"}`, `{"ref_id":"C","parent_ref_id":""}`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Updated: 2}, last.Stats[Categories])
				require.Equal(t, h.category("C").ID, h.category("P").ParentID)
			}},
		{"a sub-category before a parent that is none any more",
			[]string{of(p, c), of(`{"ref_id":"X","name":"x","parent_ref_id":"C"}`, `{"ref_id":"C",`+
				`"parent_ref_id":""}`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Categories])
			}},
		{"one level, whichever comes first",
			[]string{of(`{"ref_id":"X","name":"x","parent_ref_id":"C"}`, c, p)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Categories, 0), `"C", which is a sub-category`)
				require.Equal(t, Stats{Created: 2, Errors: 1}, last.Stats[Categories])
			}},
		{"a cycle is named, and what hangs on it fails", []string{of(p), of(`{"ref_id":"P","parent_ref_id":"X"}`,
			`{"ref_id":"X","name":"x","parent_ref_id":"P"}`, `{"ref_id":"Y","name":"y","parent_ref_id":"X"}`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, `parent_ref_id creates a cycle of categories: "P" > "X" > `+
					`"P"`, message(last, Categories, 0))
				require.Equal(t, `parent_ref_id creates a cycle of categories: "X" > "P" > `+
					`"X"`, message(last, Categories, 1))
				require.Contains(t, message(last, Categories, 2), `"X", which does not exist`)
			}},
		{"no cycle with a category that fails without it", []string{of(p, x, c), of(`{"ref_id":"P",`+
			`"parent_ref_id":"X"}`,
			`{"ref_id":"X","parent_ref_id":"P"}`)}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, Stats{Updated: 1, Errors: 1}, last.Stats[Categories])
			require.Equal(t, h.category("P").ID, h.category("X").ParentID)
		}},
	})
}

func TestNestedGroupsMayComeInAnyOrder(t *testing.T) {
	of := func(options ...string) string { return `M {"options":[` + strings.Join(options, ",") + `]}` }
	option := func(ref, group, nested, more string) string {
		return `{"ref_id":"` + ref + `","title":"o","price":0,"opt_grp_ref_ids":["` + group + `"],` +
			`"nested_opt_grps":["` +
			nested + `"]` + more + `}`
	}
	const groups = `M {"option_groups":[{"ref_id":"A","title":"a"},{"ref_id":"B","title":"b"},{"ref_id":"C",` +
		`"title":"c"}]}`
	const clear = `,"clear_opt_grps":true,"clear_nested_opt_grps":true`
	runEffects(t, []effectRow{
		{"an option needs what a later one clears", []string{groups, of(option("x", "A", "B", "")),
			of(option("y", "B", "A", ""), `{"ref_id":"x","price":0,"clear_nested_opt_grps":true}`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Created: 1, Updated: 1}, last.Stats[Options])
				require.Equal(t, []string{"A"}, h.groupsUnder("y"))
			}},
		{"two options turn round together", []string{groups, of(option("x", "A", "B", ""), option("y", "A", "B", "")),
			of(option("x", "B", "A", clear), option("y", "B", "A", clear))},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Updated: 2}, last.Stats[Options])
				require.Equal(t, []string{"B"}, h.groupsOf("y"))
			}},
		{"clear flags have no effect at a store", []string{groups, of(option("x", "A", "B", "")),
			`S1` + of(option("y", "B", "A", ""), option("x", "B", "C", clear))[2:]},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Contains(t, message(last, Options, 0), "makes a cycle of option groups")
			}},
		{"a cycle fails the option that closes it alone", []string{groups, of(option("x", "A", "B", ""),
			option("y", "B", "A", ""), option("z", "A", "C", ""))}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, Stats{Created: 2, Errors: 1}, last.Stats[Options])
			require.Contains(t, message(last, Options, 1), "makes a cycle of option groups")
		}},
	})
}

func TestOrderOfObjectsDoesNotMatter(t *testing.T) {
	vocabulary := fakeVocabulary(t)
	rapid.Check(t, func(t *rapid.T) {
		location, body := drawRequest(t)
		var whole fields
		require.NoError(t, json.Unmarshal([]byte(body), &whole))
		plain, turned := newMemoryDB(t, vocabulary, "IN"), newMemoryDB(t, vocabulary, "IN")
		for _, h := range []*memoryDB{plain, turned} {
			h.send(MasterLocation, seed)
		}
		_, first := plain.send(location, body)
		for _, kind := range Kinds() {
			// Of rates that contradict each other, the last wins.
			if list, sent := whole[kind.String()].([]any); sent && kind != Taxes && kind != Charges {
				whole[kind.String()] = rapid.Permutation(list).Draw(t, "order")
			}
			for _, outcome := range first.Outcomes[kind] {
				if strings.Contains(outcome.Message, "cycle") {
					t.Skip("the order decides which object closes the cycle")
				}
			}
		}
		encoded, err := json.Marshal(whole)
		require.NoError(t, err)
		_, second := turned.send(location, string(encoded))
		require.Equal(t, strings.Join(plain.lines(), "\n"), strings.Join(turned.lines(), "\n"))
		require.Equal(t, first.Stats, second.Stats)
	})
}

func TestTaxesActInAnyOrder(t *testing.T) {
	const low, high = `{"code":"CGST_P","title":"GST","structure":{"value":2.5}`,
		`{"code":"CGST_P","title":"GST","structure":{"value":9}`
	taxes := func(list ...string) string { return `M {"taxes":[` + strings.Join(list, ",") + `]}` }
	for says, row := range map[string]struct {
		before, one, other string
		low, high          []string
	}{
		"a list takes precedence over all": {taxes(low + `}`), low + `,"item_ref_ids":["tea"]}`,
			high + `,"item_ref_ids":["all"]}`, []string{"tea"}, []string{"all"}},
		"an inactive rate gets what another no longer has": {taxes(low + `,"item_ref_ids":["all"]}`),
			low + `,"active":false}`, high + `,"active":false,"item_ref_ids":["all"]}`, []string{}, []string{"all"}},
		"an inactive rate gets nothing from one that is switched on": {
			taxes(low + `,"active":false,"item_ref_ids":["tea"]}`),
			low + `,"active":true}`, high + `,"active":false,"item_ref_ids":["tea"]}`, []string{"tea"}, []string{}},
	} {
		for _, request := range []string{taxes(row.one, row.other), taxes(row.other, row.one)} {
			runEffects(t, []effectRow{{says, []string{"M " + two, row.before, request},
				func(t *testing.T, h *memoryDB, _ Plan) {
					require.ElementsMatch(t, row.low, h.taxed("CGST_P 2.5"))
					require.ElementsMatch(t, row.high, h.taxed("CGST_P 9"))
				}}})
		}
	}
}
