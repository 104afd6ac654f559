package main

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
)

func TestTheSandboxIsForBusinessesInTestModeAndForThoseWhoAct(t *testing.T) {
	s := newSetUp(t)
	page := shell.BusinessLink(s.tenant.ID, "sandbox/")
	form := func(change ...string) url.Values {
		fields := url.Values{"kind": {"order"}, "store": {"s1"}, "count": {"5"}, "rate": {"0"}, "seed": {"7"}, "why": {"a try"}}
		for i := 0; i < len(change); i += 2 {
			fields.Set(change[i], change[i+1])
		}
		return fields
	}
	require.Contains(t, s.kim.get(t, page).text, "The business is not in test mode")
	refused := s.kim.post(t, page, form())
	require.Equal(t, 409, refused.status)
	require.Contains(t, refused.text, "not in test mode")
	require.NoError(t, sandbox(t.Context(), s.hub.db, s.tenant.ID, []string{"aggregator-a"}, "http://127.0.0.1:9"))
	require.Contains(t, s.kim.get(t, page).text, "Place orders")
	for says, fields := range map[string]url.Values{
		"Orders must be a number":  form("count", "many"),
		"one after the other must": form("rate", "NaN"),
		"draws one must be":        form("seed", "-1"),
		"count must be from 1":     form("count", "501"),
		"kind must be order":       form("kind", "riot"),
		"Say why":                  form("why", " "),
	} {
		refused := s.kim.post(t, page, fields)
		require.Equal(t, 400, refused.status, says)
		require.Contains(t, refused.text, says)
	}
	require.Equal(t, 503, s.kim.post(t, page, form()).status, "nothing is played by a hub that does not run")

	viewer := s.user(t, "vic@example.com", access.Viewer, s.tenant.ID)
	require.NotContains(t, viewer.get(t, page).text, "Place orders")
	require.Equal(t, 403, viewer.post(t, page, form()).status)
	require.Equal(t, 404, s.user(t, "eve@example.com", access.Support).get(t, page).status, "of another business there is nothing")

	checklist := s.kim.get(t, shell.BusinessLink(s.tenant.ID, "checklist/"))
	require.Equal(t, 200, checklist.status)
	require.Contains(t, checklist.text, "0 of 9 steps")
	require.Contains(t, checklist.text, "http://example.com/external/api/v1/stores/")
}
