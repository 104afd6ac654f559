package hub

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/plugintest"
)

const contextualPlugin = "./testdata/contextual"

// newContextClient is a business whose store s1 is listed on a platform with rules for whole menus.
func newContextClient(t *testing.T) *publishClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "contextual", contextualPlugin)
	n := &publishClient{menuClient: newMenuClientAt(t, newPluginAPI(t, dir, unlimited)),
		aggregators: newFakeAggregators(t), seenCallbacks: 1}
	require.NoError(t, platforms.New(n.hub.db).Set(t.Context(), n.tenant.ID,
		core.Platform{Name: "p", ServedBy: "contextual"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"gateway": n.aggregators.URL}
			return nil
		}))
	n.callbacks = hubtest.NewEventSink(t, nil)
	return n
}

// awaitLast waits until the last request to the aggregator is this.
func (n *publishClient) awaitLast(path, body string) {
	n.t.Helper()
	n.advanceUntil(path+" "+body, func() bool {
		requests := n.aggregators.requests()
		if len(requests) == 0 {
			return false
		}
		last := requests[len(requests)-1]
		return last.path == path && last.body == body
	})
}

// findingsOf returns the findings in the last callback, by array and ref_id.
func (n *publishClient) findingsOf(array, ref string) string {
	n.t.Helper()
	for _, object := range n.awaitCallback(n.seenCallbacks)[array].([]any) {
		if object := object.(map[string]any); object["ref_id"] == ref && object["platform_findings"] != nil {
			return fmt.Sprint(object["platform_findings"])
		}
	}
	return ""
}

const contextMenu = `{"categories":[
		{"ref_id":"mains","name":"Mains","description":"d"},{"ref_id":"sides","name":"Sides"},
		{"ref_id":"wine","name":"Wine","description":"d"},
		{"ref_id":"red","name":"Red","description":"d","parent_ref_id":"wine"}],
	"items":[
		{"ref_id":"fries","title":"Fries","price":3,"category_ref_ids":["sides"]},
		{"ref_id":"merlot","title":"Merlot","price":9,"category_ref_ids":["red"]},
		{"ref_id":"soup","title":"Soup","price":5,"category_ref_ids":["mains"]},
		{"ref_id":"steak","title":"Steak","price":15,"category_ref_ids":["mains"]}],
	"option_groups":[{"ref_id":"sauce","title":"Sauce","item_ref_ids":["steak"]},
		{"ref_id":"extra","title":"Extra","description":"d"}],
	"options":[{"ref_id":"pepper","title":"Pepper","price":1,"opt_grp_ref_ids":["sauce"],"nested_opt_grps":["extra"]},
		{"ref_id":"truffle","title":"Truffle","price":20,"opt_grp_ref_ids":["extra"]}]}`

func TestContextualPluginPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "contextual", contextualPlugin)
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "contextual", "contextual"), ""), plugintest.Options{})
}

func TestFindingsBlockTheItemsOfWhatTheyName(t *testing.T) {
	n := newContextClient(t)
	n.sendMenu("s1", contextMenu)
	require.Contains(t, n.findingsOf("categories", "sides"), "rule:description")
	require.Contains(t, n.findingsOf("items", "merlot"), "rule:tax")
	require.Contains(t, n.findingsOf("options", "truffle"), "rule:price")
	require.Contains(t, n.findingsOf("option_groups", "sauce"), "severity:warning")
	require.Empty(t, n.findingsOf("items", "fries")+n.findingsOf("items", "steak")+n.findingsOf("categories", "mains"))
	n.awaitLast("PUT /menus/s1", `["soup"]`)

	list := n.settle()
	for _, object := range []string{"entity:category", "ref_id:sides", "entity:option", "ref_id:truffle",
		"ref_id:merlot"} {
		require.Contains(t, fmt.Sprint(hubtest.Lookup(list[0], "errors")), object)
	}
	var steak int64
	require.NoError(t, n.hub.db.Bun().QueryRowContext(t.Context(), `SELECT id FROM catalogue_entities
		WHERE business_id = ? AND kind = 1 AND name = 'steak'`, n.tenant.ID).Scan(&steak))
	detail, err := consolemenus.New(n.hub.db).Item(t.Context(), n.tenant.ID, steak)
	require.NoError(t, err)
	require.Len(t, detail.Findings, 2)

	// Each request names only what is corrected, and its items are checked again.
	n.sendMenu("-1", `{"categories":[{"ref_id":"sides","description":"d"}]}`)
	n.awaitLast("PUT /menus/s1", `["fries","soup"]`)
	n.sendMenu("-1", `{"options":[{"ref_id":"truffle","price":2}]}`)
	n.awaitLast("PUT /menus/s1", `["fries","soup","steak"]`)
	n.sendMenu("-1", `{"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":9},
		"item_ref_ids":["merlot"]}]}`)
	n.awaitLast("PUT /menus/s1", `["fries","merlot","soup","steak"]`)
	n.sendMenu("-1", `{"option_groups":[{"ref_id":"extra","min_selectable":2,"max_selectable":3}]}`)
	require.Contains(t, n.findingsOf("option_groups", "extra"), "rule:minimum")
	n.awaitLast("PUT /menus/s1", `["fries","merlot","soup"]`)
}

func TestStoreFindingKeepsTheStoreOff(t *testing.T) {
	n := newContextClient(t)
	n.sendMenu("s1", soup)
	n.awaitLast("PUT /menus/s1", `["soup"]`)
	store := func(phone string) {
		n.ok("POST", storesRoute, fmt.Sprintf(`{"stores":[{"ref_id":"s1","contact_phone":%q}]}`, phone))
		n.seenCallbacks++
		n.awaitCallback(n.seenCallbacks)
	}
	store("000")
	n.sendMenu("s1", soup)
	require.Contains(t, fmt.Sprint(n.awaitCallback(n.seenCallbacks)["platform_findings"]), "rule:phone")
	n.awaitLast("DELETE /menus/s1", `{}`)
	list := n.settle()
	require.Equal(t, "unlisted", hubtest.Lookup(list[0], "status"))
	require.Contains(t, fmt.Sprint(list[0]), "has no phone")
	var id int64
	require.NoError(t, n.hub.db.Bun().QueryRowContext(t.Context(),
		`SELECT id FROM stores WHERE business_id = ? AND ref_id = 's1'`, n.tenant.ID).Scan(&id))
	found, err := consolemenus.New(n.hub.db).StoreFindings(t.Context(), n.tenant.ID, id)
	require.NoError(t, err)
	require.Equal(t, "phone", found[0].Rule)

	store("123") // a recheck finds that the store is right now
	n.awaitLast("PUT /menus/s1", `["soup"]`)
}
