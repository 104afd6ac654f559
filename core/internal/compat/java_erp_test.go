package compat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A Java ERP has doubles for all numbers, so integers end in .0 and large ones have an exponent. It writes maps in hash
// order, so a child often precedes its parent.
var javaERP = map[string]string{"Accept": "application/json, application/*+json",
	"Content-Type": "application/json; charset=UTF-8"}

// moving.md, What clients send: objects in any order, such as a sub-category before its parent; integers with a zero
// after the point.
func TestJavaERPSendsChildrenBeforeParents(t *testing.T) {
	c := newClient(t, javaERP)
	c.stores("1001")
	callback := c.applied("1001", `{"charges":[{"title":"Delivery Charge","structure":{"value":250.0},"code":"DC_F"}],`+
		`"taxes":[{"structure":{"value":8.0},"item_ref_ids":["burger"],"title":"Sales Tax","code":"ST_P"}],`+
		`"options":[{"opt_grp_ref_ids":["size"],"price":1.0E0,"title":"Large","ref_id":"large",`+
		`"nested_opt_grps":["ice"],`+
		`"weight":250.0,"food_type":1,"sort_order":2.0},{"opt_grp_ref_ids":["ice"],"price":0.0,"title":"No ice",`+
		`"ref_id":"none"}],`+
		`"option_groups":[{"title":"Ice","min_selectable":0.0,"max_selectable":-1.0,"ref_id":"ice"},`+
		`{"title":"Size","item_ref_ids":["burger"],"ref_id":"size","min_selectable":1.0,"max_selectable":1.0}],`+
		`"items":[{"price":1.25E1,"title":"Burger","category_ref_ids":["grill"],"ref_id":"burger",`+
		`"current_stock":-1.0,`+
		`"sort_order":250.0,"serves":2.0,"weight":250.0}],`+
		`"categories":[{"parent_ref_id":"mains","name":"Grill","ref_id":"grill","sort_order":1.0},{"name":"Mains",`+
		`"ref_id":"mains"}]}`)
	require.Empty(t, warnings(callback))
	require.Equal(t, "mains", find(c.stored("-1", "categories"), "ref_id", "grill").get("parent_ref_id").text())
	burger := c.stored("1001", "items")[0]
	require.Equal(t, []any{12.5, 250.0, 2.0, []any{"grill"}},
		burger.all("price", "sort_order", "serves", "category_ref_ids"))
	large := find(c.stored("1001", "options"), "ref_id", "large")
	require.Equal(t, []any{[]any{"size"}, []any{"ice"}, "1"},
		large.all("opt_grp_ref_ids", "nested_opt_grps", "food_type"))
	require.Equal(t, []string{"burger"}, texts(c.stored("-1", "taxes")[0].get("item_ref_ids").list()))
}

// moving.md, What clients send: only objects in a cycle or with an unknown parent fail.
func TestJavaERPSendsCyclesAndUnknownParents(t *testing.T) {
	c := newClient(t, javaERP)
	c.stores("1001")
	failed := failures(c.menu("-1", `{"categories":[{"parent_ref_id":"b","name":"A","ref_id":"a"},`+
		`{"parent_ref_id":"a","name":"B","ref_id":"b"},{"parent_ref_id":"nowhere","name":"C","ref_id":"c"},`+
		`{"name":"Drinks","ref_id":"drinks"},{"parent_ref_id":"drinks","name":"Tea","ref_id":"teas"}],`+
		`"items":[{"price":2.0,"title":"Tea","ref_id":"tea","category_ref_ids":["teas"]}],`+
		`"option_groups":[{"title":"X","ref_id":"x"},{"title":"Y","ref_id":"y"}],`+
		`"options":[{"price":1.0,"title":"O","ref_id":"o","opt_grp_ref_ids":["x"],"nested_opt_grps":["y"]},`+
		`{"price":1.0,"title":"P","ref_id":"p","opt_grp_ref_ids":["y"],"nested_opt_grps":["x"]}]}`))
	require.Len(t, failed, 4, "%v", failed)
	require.Contains(t, failed["categories[0]"], "cycle")
	require.Contains(t, failed["categories[1]"], "cycle")
	require.Contains(t, failed["categories[2]"], `"nowhere"`)
	require.Contains(t, failed["options[1]"], "cycle")
	require.Len(t, c.stored("-1", "categories"), 2)
	require.Len(t, c.stored("-1", "items"), 1)
	require.Len(t, c.stored("-1", "options"), 1)
}

// moving.md, What clients send: a client that marks objects as sent by the response waits for the result.
func TestJavaERPWaitsForTheResult(t *testing.T) {
	c := newClient(t, javaERP)
	c.stores("s1")
	r := c.ok("POST", menuPath+"-1/?wait=15",
		`{"items":[{"ref_id":"dal","title":"Dal","price":9.5},{"ref_id":"pie","price":3.0}]}`)
	require.Equal(t, []any{"ended", "done"}, r.all("wait_outcome", "state"))
	require.Equal(t, 1.0, r.get("result.stats.items.errors").number())
	require.Contains(t, r.message(), "1 object failed")
	c.refused("POST", menuPath+"-1/?wait=16", `{"items":[]}`, "wait")
}
