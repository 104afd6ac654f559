package menu

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// wholeContext returns the context of all items of a catalogue, without ids.
func wholeContext(t *testing.T, m Menu) string {
	t.Helper()
	view, rows := newCatalogueView(&m), []int32{}
	for row := range m.Items {
		rows = append(rows, int32(row))
	}
	text, err := json.Marshal(view.context(rows, &Request{}, "tasty-eats"))
	require.NoError(t, err)
	list := regexp.MustCompile(`"id":-?\d+,?`).ReplaceAllString(string(text), "")
	items := strings.Index(list, `"items":[`) // their order is that of the rows
	return list[:items] + list[strings.Index(list, `"option_groups":`):]
}

func TestCheckedContextIsThatAfterTheRequest(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "US")
	h.send("-1", `{"categories":[{"ref_id":"wine","name":"Wine"},{"ref_id":"red","name":"Red","parent_ref_id":"wine"}],
		"items":[{"ref_id":"merlot","title":"Merlot","price":9,"category_ref_ids":["red"]},
			{"ref_id":"soup","title":"Soup","price":5,"category_ref_ids":["wine"]}],
		"option_groups":[{"ref_id":"size","title":"Size","item_ref_ids":["merlot","soup"]},
			{"ref_id":"extra","title":"Extra"}],
		"options":[{"ref_id":"big","title":"Big","price":1,"opt_grp_ref_ids":["size"],"nested_opt_grps":["extra"]},
			{"ref_id":"ice","title":"Ice","price":1,"opt_grp_ref_ids":["extra"]}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":9},"item_ref_ids":["merlot"]}]}`)
	before := wholeContext(t, h.menu("-1"))
	request, err := Decode([]byte(`{"categories":[{"ref_id":"white","name":"White","parent_ref_id":"wine"},
			{"ref_id":"red","active":false}],
		"items":[{"ref_id":"merlot","price":9,"category_ref_ids":["white"]},
			{"ref_id":"cava","title":"Cava","price":7,"category_ref_ids":["white"]},
			{"ref_id":"soup","price":5,"clear_option_groups":true}],
		"option_groups":[{"ref_id":"size","title":"How much","item_ref_ids":["cava"]}],
		"options":[{"ref_id":"big","price":2,"clear_nested_opt_grps":true},
			{"ref_id":"ice","price":1,"opt_grp_ref_ids":["size"]}],
		"flush_taxes":true,
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8},"item_ref_ids":["all"]}]}`),
		h.scope("-1"), h.rules)
	require.NoError(t, err)
	n := inspection{request: request}
	n.previewItems(h.load(request))
	previewed := h.menu("-1")
	previewed.applyCatalogue(&n.plan)
	h.write(h.plan(request))
	after := wholeContext(t, h.menu("-1"))
	require.NotEqual(t, before, after)
	require.Equal(t, after, wholeContext(t, previewed))
}

func TestItemsOfNestedObjectsAreFound(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "US")
	h.send("-1", `{"categories":[{"ref_id":"wine","name":"Wine"},{"ref_id":"red","name":"Red","parent_ref_id":"wine"}],
		"items":[{"ref_id":"merlot","title":"Merlot","price":9,"category_ref_ids":["red"]},
			{"ref_id":"soup","title":"Soup","price":5}],
		"option_groups":[{"ref_id":"size","title":"Size","item_ref_ids":["soup"]},{"ref_id":"extra","title":"Extra"}],
		"options":[{"ref_id":"big","title":"Big","price":1,"opt_grp_ref_ids":["size"],"nested_opt_grps":["extra"]},
			{"ref_id":"ice","title":"Ice","price":1,"opt_grp_ref_ids":["extra"]}]}`)
	m := h.menu("-1")
	view := newCatalogueView(&m)
	for object, item := range map[FoundObject]string{{FoundCategory, "wine"}: "merlot", {FoundGroup, "extra"}: "soup",
		{FoundOption, "ice"}: "soup"} {
		rows := view.itemsOf(object)
		require.Len(t, rows, 1, object)
		require.Equal(t, item, m.Items[rows[0]].RefID, object)
	}
	for body, items := range map[string]int{
		`{"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8},"item_ref_ids":["all"]}]}`:  2,
		`{"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":9},"item_ref_ids":["soup"]}]}`: 1,
		`{"options":[{"ref_id":"ice","price":2}]}`:                                                        1,
		`{"option_groups":[{"ref_id":"size","item_ref_ids":["merlot"]}]}`:                                 2,
	} {
		n, catalogue := inspection{}, h.menu("-1")
		n.request, _ = Decode([]byte(body), h.scope("-1"), h.rules)
		n.previewItems(h.load(n.request))
		catalogue.applyCatalogue(&n.plan)
		require.Len(t, newCatalogueView(&catalogue).affected(&n.request, &n.plan), items, body)
	}
	require.Empty(t, view.itemsOf(FoundObject{FoundOption, "unknown"}))
	require.Empty(t, catalogueView{}.itemsOf(FoundObject{FoundOption, "ice"}))
}
