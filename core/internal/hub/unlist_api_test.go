package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

func TestUnlistedStoreIsUnlistedAtItsAggregator(t *testing.T) {
	n := newPublishClient(t, "a", "b", "c")
	n.sendMenu("s1", soup)
	n.settle()
	before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
	list := func(platforms string) string {
		reference := n.ok("POST", storesRoute,
			fmt.Sprintf(`{"stores":[{"ref_id":"s1","excluded_platforms":[%s]}]}`, platforms)).body["reference"].(string)
		n.seenCallbacks++
		n.awaitCallback(n.seenCallbacks)
		n.settle()
		return reference
	}
	last := func() map[string]string {
		sent := map[string]string{}
		for _, one := range n.aggregators.requests()[before:] {
			sent[one.path] = one.body
		}
		return sent
	}
	reference := list(`"p-a","p-b","p-c"`)
	require.Equal(t, map[string]string{
		"PUT /v2/outlets/s1/listing":      `{"listed":false}`,
		"PUT /api/restaurants/s1/listing": `{"listed":false}`,
		"POST /gw/shop.listing":           `{"shop":"s1","listed":false}`,
	}, last())
	for _, one := range n.settle() {
		require.Equal(t, "unlisted", hubtest.Lookup(one, "status"))
		require.Contains(t, hubtest.Lookup(one, "message"), "it was delisted there")
	}
	for _, event := range n.awaitEvents(reported + 3) {
		require.Equal(t, []any{reference, "success", "not_listed"},
			[]any{event["reference_id"], event["status"], hubtest.Lookup(event["errors"].([]any)[0], "code")})
	}
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":6}]}`)
	list(`"p-c","p-b","p-a"`)
	require.Len(t, n.aggregators.requests(), before+3, "once is enough")
	require.Len(t, n.callbacks.Arrivals(), reported+3)
	reported += 3

	list(`"p-b","p-c"`)
	n.awaitEvents(reported + 1)
	require.Contains(t, last()["PUT /v2/outlets/s1/menu"], "soup", "it is listed again")

	// A rejection is reported, and retried with the next change.
	n.aggregators.respondWith(func(int, receivedRequest) (int, string) { return 422, `{"message":"not today"}` })
	reference = list(`"p-a","p-b","p-c"`)
	event := n.awaitEvents(reported + 2)["p-a"]
	require.Equal(t, []any{reference, "error"}, []any{event["reference_id"], event["status"]})
	failed := n.ok("GET", publicationsRoute+"?status=failed", "").body["publications"].([]any)
	require.Len(t, failed, 1)
	require.Equal(t, "p-a", hubtest.Lookup(failed[0], "platform"))
	n.aggregators.respondWith(nil)
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","name":"Other"}]}`)
	n.advanceUntil("it is taken off", func() bool {
		return len(n.ok("GET", publicationsRoute+"?status=unlisted", "").body["publications"].([]any)) == 3
	})
}

// changeStore changes the store s1, and returns the requests to its platform.
func (n *publishClient) changeStore(change string) (paths []string) {
	n.t.Helper()
	before := len(n.aggregators.requests())
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1",`+change+`}]}`)
	n.seenCallbacks++
	n.awaitCallback(n.seenCallbacks)
	n.settle()
	for _, one := range n.aggregators.requests()[before:] {
		paths = append(paths, one.path)
	}
	return paths
}

// platformIDChange returns a store update with another id at the platform p-a.
func platformIDChange(id string) string {
	return fmt.Sprintf(`"platform_data":[{"name":"p-a","platform_store_id":%q}]`, id)
}

func TestChangedPlatformStoreIDUnlistsTheFormerID(t *testing.T) {
	n := newPublishClient(t, "a")
	n.sendMenu("s1", soup)
	n.settle()
	sent, known := n.changeStore, platformIDChange
	require.Equal(t, []string{"PUT /v2/outlets/R-33/menu", "PUT /v2/outlets/s1/listing"}, sent(known("R-33")))
	require.Equal(t, []string{"PUT /v2/outlets/R-34/menu", "PUT /v2/outlets/R-33/listing"}, sent(known("R-34")))
	require.Equal(t, []string{"PUT /v2/outlets/R-34/listing"}, sent(`"included_platforms":[],"platform_data":[]`))
	require.Equal(t, []string{"PUT /v2/outlets/R-35/menu"}, sent(`"included_platforms":["p-a"],`+known("R-35")),
		"where it was taken off it is not on sale")

	// A former store that cannot be closed is reported, and does not prevent publishing the new one.
	reported := len(n.callbacks.Arrivals())
	n.aggregators.respondWith(func(_ int, r receivedRequest) (int, string) {
		if strings.HasSuffix(r.path, "/listing") {
			return 422, `{"message":"it has orders"}`
		}
		return 200, `{"accepted":true}`
	})
	require.Equal(t, []string{"PUT /v2/outlets/R-36/menu", "PUT /v2/outlets/R-35/listing"}, sent(known("R-36")))
	event := n.awaitEvents(reported + 1)["p-a"]
	require.Equal(t, "success", event["status"])
	require.Equal(t, []any{"store", "s1", "former_id"},
		[]any{hubtest.Lookup(event["errors"].([]any)[0], "entity"), hubtest.Lookup(event["errors"].([]any)[0],
			"ref_id"),
			hubtest.Lookup(event["errors"].([]any)[0], "code")})
	require.Contains(t, hubtest.Lookup(event["errors"].([]any)[0], "message"), `under the previous id "R-35"`)
	require.Equal(t, []string{"PUT /v2/outlets/R-36/menu"}, sent(`"name":"Renamed"`), "one call")
}

func TestOldStoreIDStaysListedUntilReplaced(t *testing.T) {
	n := newPublishClient(t, "a")
	n.sendMenu("s1", soup)
	n.settle()
	n.aggregators.respondWith(func(_ int, r receivedRequest) (int, string) {
		if strings.Contains(r.path, "R-typo") {
			return 404, `{"message":"no such outlet"}`
		}
		return 200, `{"accepted":true}`
	})
	reported := len(n.callbacks.Arrivals())
	require.Equal(t, []string{"PUT /v2/outlets/R-typo/menu"}, n.changeStore(platformIDChange("R-typo")))
	require.Equal(t, "error", n.awaitEvents(reported + 1)["p-a"]["status"])
	refused := 0
	n.aggregators.respondWith(func(_ int, r receivedRequest) (int, string) {
		if strings.HasSuffix(r.path, "/listing") {
			if refused++; refused == 1 {
				return 503, `{}`
			}
		}
		return 200, `{"accepted":true}`
	})
	require.Equal(t, []string{"PUT /v2/outlets/R-1/menu", "PUT /v2/outlets/s1/listing", "PUT /v2/outlets/R-1/menu",
		"PUT /v2/outlets/s1/listing"},
		n.changeStore(platformIDChange("R-1")), "both are sent again until it is removed")
	event := n.awaitEvents(reported + 2)["p-a"]
	require.Equal(t, []any{"success", []any{}}, []any{event["status"], event["errors"]})
	require.Equal(t, []string{"PUT /v2/outlets/R-1/menu"}, n.changeStore(`"name":"Renamed"`))
}

func TestNeverPublishedStoreIsNotUnlisted(t *testing.T) {
	n := newPublishClient(t, "a")
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","name":"Two","city":"C","included_platforms":["web"]}]}`)
	n.seenCallbacks++
	n.awaitCallback(n.seenCallbacks)
	n.settle()
	reported := len(n.callbacks.Arrivals())
	_, err := publications.New(n.hub.db).Request(t.Context(), n.tenant.ID, "s2", []string{"p-a"},
		core.NewID(n.clock.Now()))
	require.NoError(t, err)
	require.Equal(t, "error", n.awaitEvents(reported + 1)["p-a"]["status"])
	for _, one := range n.aggregators.requests() {
		require.False(t, strings.Contains(one.path, "s2"), one.path)
	}
}

func TestPublicationReportsEveryRequestItCarries(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	reported := len(n.callbacks.Arrivals())
	store := n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","name":"Renamed"}]}`).body["reference"]
	menu := n.ok("POST", menuRoute+"s1/", soup).body["reference"]
	n.awaitEvents(reported + 2)
	require.Equal(t, reported+2, len(n.callbacks.Arrivals()))
	var references []any
	for _, arrival := range n.callbacks.Arrivals()[reported:] {
		var event map[string]any
		require.NoError(t, json.Unmarshal(arrival.Body, &event))
		references = append(references, event["reference_id"])
	}
	require.ElementsMatch(t, []any{store, menu}, references)
}
