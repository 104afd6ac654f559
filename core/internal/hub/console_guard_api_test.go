package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/webhook"
)

// consoleRoutes returns the console's routes with a method, without the public ones.
func (a *api) consoleRoutes(method string) (paths []string) {
	for _, r := range a.hub.server.App.GetRoutes(true) {
		if r.Method == method && strings.HasPrefix(r.Path, shell.Root) && r.Path != shell.SignInPath &&
			r.Path != shell.WelcomePath && !strings.HasSuffix(r.Path, "*") {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// isOwnView reports whether a route changes only views that the user has saved.
func isOwnView(route string) bool {
	return strings.HasSuffix(route, "/views/") || strings.HasSuffix(route, "/views/delete/")
}

func TestViewerChangesOnlyTheirOwnAccount(t *testing.T) {
	a := consoleHub(t)
	mine := hubtest.Business(t, a.hub.db)
	vera := a.user(t, "vera@example.com", access.Viewer, mine.ID)
	own := []string{shell.ThemePath, shell.ZonePath, shell.DensityPath, shell.KeysPath, shell.AccountPath,
		shell.SignOutPath, shell.ColumnsPath, shell.SearchPath + "texts/"} // the last only opens a list
	routes := a.consoleRoutes(http.MethodPost)
	require.Greater(t, len(routes), 15)
	for _, route := range routes {
		if slices.Contains(own, route) || isOwnView(route) {
			continue
		}
		path := strings.NewReplacer(":business", fmt.Sprint(mine.ID), ":id", "1", ":reference",
			core.NewID(a.clock.Now()).String(), ":platform", "web").Replace(route)
		require.Equal(t, http.StatusForbidden, vera.post(t, path, withReason(nil)).status, path)
	}
	require.Empty(t, a.auditActions(t, mine.ID))
}

func TestConsolePagesForbidFraming(t *testing.T) {
	a := consoleHub(t)
	mine := hubtest.Business(t, a.hub.db)
	sam := a.user(t, "sam@example.com", access.Admin)
	for _, route := range append(a.consoleRoutes(http.MethodGet), shell.SignInPath, shell.WelcomePath) {
		if strings.HasPrefix(route, shell.LivePath) || strings.HasSuffix(route, ".json") {
			continue
		}
		path := strings.NewReplacer(":business", fmt.Sprint(mine.ID), ":id", "1", ":reference",
			core.NewID(a.clock.Now()).String(), ":platform", "web").Replace(route)
		page := sam.get(t, path)
		if page.status == http.StatusSeeOther { // the URL of a form
			continue
		}
		require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.Contains(t, page.header.Get("Content-Security-Policy"), "form-action 'self'", path)
		require.Equal(t, "no-store", page.header.Get("Cache-Control"), path)
	}
}

// businessPages creates one object of each kind in a business, and returns the paths of their pages.
func (a *api) businessPages(t *testing.T, tenant hubtest.Tenant) []string {
	t.Helper()
	ctx, db := context.Background(), a.hub.db
	sub := hubtest.Subscribe(t, db, tenant.ID, core.StoreAction, "https://theirs.example/hook")
	require.NoError(t, outbox.NewPublisher(db).Publish(ctx,
		core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.StoreAction, At: a.clock.Now(),
			Body: []byte(`{}`)}))
	sent, err := deliveries.New(db).List(ctx, tenant.ID, webhook.Filter{Limit: 1})
	require.NoError(t, err)
	job := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization,
		body: `{"stores":[{"ref_id":"s1","name":"N","city":"C"}]}`})
	dishes := a.do(t, request{method: "POST", path: "/external/api/v1/inventory/locations/-1/",
		authorization: tenant.Authorization, body: `{"items":[{"ref_id":"i1","title":"T","price":1}]}`})
	require.Equal(t, http.StatusOK, dishes.status, dishes.text)
	a.start(t)
	lists, read := consolelists.New(db), consolemenus.New(db)
	hubtest.WaitUntil(t, "store and item are there", func() bool {
		stores, err := read.ListStores(ctx, tenant.ID, console.StoreFilter{Limit: 1})
		require.NoError(t, err)
		items, err := read.ListItems(ctx, tenant.ID, console.ItemFilter{Limit: 1})
		require.NoError(t, err)
		return len(stores)+len(items) == 2
	})
	stores, err := read.ListStores(ctx, tenant.ID, console.StoreFilter{Limit: 1})
	require.NoError(t, err)
	items, err := read.ListItems(ctx, tenant.ID, console.ItemFilter{Limit: 1})
	require.NoError(t, err)
	require.NoError(t, lists.Record(ctx, access.Change{Business: tenant.ID, Actor: "cli", Action: "a", Object: "o"}))
	entries, err := lists.Audit(ctx, tenant.ID, console.EntryFilter{Limit: 1})
	require.NoError(t, err)
	revisions, err := menus.New(db).Revisions(ctx, tenant.ID, menu.RevisionFilter{Limit: 1})
	require.NoError(t, err)
	return []string{fmt.Sprintf("webhooks/%d/", sub.ID), "deliveries/" + sent[0].ID.String() + "/",
		"jobs/" + job.body["reference"].(string) + "/",
		fmt.Sprintf("stores/%d/", stores[0].ID), fmt.Sprintf("items/%d/", items[0].ID),
		"audit/" + entries[0].ID.String() + "/",
		"history/" + revisions[0].ID.String() + "/"}
}

func TestObjectsOfOtherBusinessesAreNotFound(t *testing.T) {
	a := consoleHub(t)
	mine, theirs := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	sam, kim := a.user(t, "sam@example.com", access.Support, mine.ID),
		a.user(t, "kim@example.com", access.Support, theirs.ID)
	for _, path := range a.businessPages(t, theirs) {
		require.Equal(t, http.StatusOK, kim.get(t, shell.BusinessLink(theirs.ID, path)).status, path)
		for _, below := range []string{"", "diff/", "diff/?at=0", "rollback/", "payload.json", "request.json",
			"callback.json"} {
			require.Equal(t, http.StatusNotFound, sam.get(t, shell.BusinessLink(mine.ID, path+below)).status,
				path+below)
		}
		for _, deed := range []string{"pause/", "resume/", "test/", "rotate/", "retry/", "rerun/", "rollback/"} {
			require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed},
				sam.post(t, shell.BusinessLink(mine.ID, path+deed), withReason(nil)).status, path+deed)
		}
	}
	require.Equal(t, http.StatusNotFound,
		sam.post(t, shell.BusinessLink(mine.ID, "keys/revoke/"),
			withReason(url.Values{"id": {fmt.Sprint(theirs.KeyID)}})).status)
	require.Equal(t, []string{"a"}, a.auditActions(t, theirs.ID))
}

func TestAuditEntryComparesBeforeAndAfter(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sub := hubtest.Subscribe(t, a.hub.db, tenant.ID, core.StoreAction, "https://pos.example/hook")
	sam := a.user(t, "sam@example.com", access.Support, tenant.ID)
	const evil = `"'><script>alert(1)</script>`
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, shell.BusinessLink(tenant.ID, fmt.Sprintf("webhooks/%d/pause/", sub.ID)),
			url.Values{"why": {evil}}).status)
	entries, err := consolelists.New(a.hub.db).Audit(context.Background(), tenant.ID,
		console.EntryFilter{Action: "webhook.pause", Limit: 1})
	require.NoError(t, err)
	page := sam.get(t, shell.BusinessLink(tenant.ID, "audit/"+entries[0].ID.String()+"/"))
	require.Contains(t, page.text, "&#34;active&#34;: true")
	require.Contains(t, page.text, "&#34;active&#34;: false")
	require.Contains(t, page.text, "&lt;script&gt;")
	require.NotContains(t, page.text, "<script>alert")
}

func TestDeliveryIsComparedWithItsPredecessor(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	hubtest.Subscribe(t, a.hub.db, tenant.ID, core.OrderStatusUpdate, "https://pos.example/hook")
	sam := a.user(t, "sam@example.com", access.Viewer, tenant.ID)
	for _, body := range []string{`{"order_id":1,"new_state":"Placed"}`, `{"order_id":2,"new_state":"Placed"}`,
		`{"order_id":1,"new_state":"<script>alert(1)</script>"}`} {
		require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
			core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.OrderStatusUpdate,
				At: a.clock.Now(), Body: []byte(body)}))
		a.clock.Advance(1e9)
	}
	sent, err := deliveries.New(a.hub.db).List(context.Background(), tenant.ID, webhook.Filter{Limit: 3})
	require.NoError(t, err)
	diff := func(n int) string {
		return sam.get(t, shell.BusinessLink(tenant.ID, "deliveries/"+sent[n].ID.String()+"/diff/")).text
	}
	latest := diff(0)
	require.Contains(t, latest, `<del class="diff-gone">  &#34;new_state&#34;: &#34;Placed&#34;,</del>`)
	require.Contains(t, latest, "deliveries/"+sent[2].ID.String()+"/")
	require.NotContains(t, latest, "<script>alert")
	require.Contains(t, diff(1), "have none before it for the same object")
}

func TestStoreGridShowsProblemsFirst(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	a.start(t)
	a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: `{"stores":[
		{"ref_id":"a-well","name":"Well","city":"C","included_platforms":["web"]},
		{"ref_id":"b-empty","name":"Empty","city":"C","included_platforms":["web"],"hide_from_ui":true},
		{"ref_id":"c-nowhere","name":"Nowhere","city":"C"},
		{"ref_id":"d-off","name":"Off","city":"C","excluded_platforms":[],"active":false}]}`})
	sam := a.user(t, "sam@example.com", access.Viewer, tenant.ID)
	grid := shell.BusinessLink(tenant.ID, "grid/")
	hubtest.WaitUntil(t, "the stores are there",
		func() bool { return strings.Contains(sam.get(t, grid).text, "Nowhere") })
	require.Contains(t, sam.get(t, grid).text, "2 no item to order", "a store without items is not live")
	require.NotContains(t, sam.get(t, grid).text, "</svg>Live<")
	require.Equal(t, 200, a.do(t, request{method: "POST", path: menuRoute + "a-well/",
		authorization: tenant.Authorization,
		body:          `{"items":[{"ref_id":"dal","title":"Dal","price":1}]}`}).status)
	hubtest.WaitUntil(t, "the store sells an item",
		func() bool { return strings.Contains(sam.get(t, grid).text, "1 no item to order") })
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(sam.get(t, grid+"?format=csv").text), `"`, ""), "\n")
	require.Equal(t, "Store,app,web,Next opening", lines[0])
	const unlisted = "The POS has not selected this platform for the store. To sell there, select the platform in " +
		"the POS (field included_platforms)."
	for i, want := range []string{
		"Empty (b-empty),Not listed (" + unlisted + "),No item to order (Customers can order no",
		"Nowhere (c-nowhere),Not listed (" + unlisted + ")",
		"Off (d-off),Inactive (The store is inactive",
		"Well (a-well),Not listed (" + unlisted + "),Live"} {
		require.Contains(t, lines[i+1], want)
	}
	next := console.GridCursor{Key: 0, RefID: "d-off"}
	require.Equal(t, next, console.ParseGridCursor(next.String()))
	counts := sam.get(t, grid+"?platform=web").text
	for _, words := range []string{"Of 4 stores:", "1 inactive", "1 no item to order", "1 not listed"} {
		require.Contains(t, counts, words)
	}
	inactive := sam.get(t, grid+"?platform=web&reason=store_inactive").text
	require.Contains(t, inactive, ">Off<")
	require.NotContains(t, inactive, ">Well<")
	require.NotContains(t, sam.get(t, grid+"?after="+next.String()).text, "Nowhere")
	require.Contains(t, sam.get(t, grid+"?after="+next.String()).text, ">Well<")
	require.Equal(t, console.GridCursor{Key: -1}, console.ParseGridCursor("-9-x"))
}
