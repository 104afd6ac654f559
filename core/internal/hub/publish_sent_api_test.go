package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/publish"
)

func TestSentMenuIsKeptAndRenderedAgain(t *testing.T) {
	n := newPublishClient(t, "a", "b", "c")
	n.settle()
	n.sendMenu("s1", soup)
	n.settle()
	var id int64
	pgtest.Row(t, n.hub.db, &id, `SELECT id FROM stores WHERE business_id = ?`, n.tenant.ID)
	renderer := aggregator.Renderer{Host: n.hub.config.Host, Source: menus.NewMenuSource(n.hub.db), Log: n.hub.log}
	render := func(platform string, sent publish.LastSent) string {
		r, err := renderer.Render(t.Context(), publish.Work{Business: n.tenant.ID, StoreID: id, StoreRef: "s1",
			Platform: "p-" + platform, Plugin: "aggregator-" + platform, CallID: sent.CallID})
		require.NoError(t, err)
		return string(r.Document)
	}
	for _, platform := range []string{"a", "b", "c"} {
		sent, err := publications.New(n.hub.db).LastSent(t.Context(), n.tenant.ID, id, "p-"+platform)
		require.NoError(t, err)
		require.Contains(t, string(sent.Body), "soup")
		require.Equal(t, publish.Published, sent.State)
		require.NotZero(t, sent.Status)
		require.JSONEq(t, string(sent.Body), render(platform, sent), "nothing changed")
	}
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":7.5}]}`)
	sent, err := publications.New(n.hub.db).LastSent(t.Context(), n.tenant.ID, id, "p-a")
	require.NoError(t, err)
	require.NotEqual(t, string(sent.Body), render("a", sent))
}
