package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

const catalogueRoute = "/external/api/v1/events/catalogue/"

func TestEventCatalogueHasEverySchemaAndSample(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	get := func(path string, headers map[string]string) apiResponse {
		return a.do(t, request{method: "GET", path: path, authorization: tenant.Authorization, headers: headers})
	}
	whole := get(catalogueRoute, nil)
	require.Equal(t, 200, whole.status, whole.text)
	listed := whole.body["event_types"].([]any)
	require.Len(t, listed, len(core.EventTypes()))
	for i, entry := range catalogue.All() {
		one := get(catalogueRoute+string(entry.Type), nil)
		require.Equal(t, listed[i], any(one.body), "one entry is the same as in the list")
		require.Equal(t, string(entry.Type), one.body["event_type"])
		require.Contains(t, one.text, `"schema":`+string(entry.Schema))
		require.Contains(t, one.text, `"sample":`+string(entry.Sample))
		if entry.Number == 0 {
			require.NotContains(t, one.body, "number")
			continue
		}
		byNumber := get(catalogueRoute+fmt.Sprint(entry.Number)+"/", nil)
		require.Equal(t, one.text, byNumber.text)
	}

	tag := whole.header.Get("ETag")
	for _, shown := range []string{tag, "W/" + tag, `"other", ` + tag} {
		again := get(strings.TrimSuffix(catalogueRoute, "/"), map[string]string{"If-None-Match": shown})
		require.Equal(t, 304, again.status)
		require.Empty(t, again.text)
		require.Equal(t, tag, again.header.Get("ETag"))
	}
	require.Equal(t, 200, get(catalogueRoute+"18", map[string]string{"If-None-Match": tag}).status,
		"each answer has a tag of its own")
	for _, unknown := range []string{"order", "17", "ORDER_PLACED", "%20"} {
		requireEnvelope(t, get(catalogueRoute+unknown+"/", nil), 404, "no event type")
	}
	requireEnvelope(t, a.do(t, request{method: "GET", path: catalogueRoute}), 401, "Authorization")
}
