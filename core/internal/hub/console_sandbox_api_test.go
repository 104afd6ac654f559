package hub

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/sandbox"
)

func TestSandboxRequiresTestModeAndWriteAccess(t *testing.T) {
	s := newSettingsClient(t)
	page := shell.BusinessLink(s.tenant.ID, "sandbox/")
	form := func(change ...string) url.Values {
		fields := url.Values{"kind": {"order"}, "store": {"s1"}, "count": {"5"}, "rate": {"0"}, "seed": {"7"},
			"why": {"a try"}}
		for i := 0; i < len(change); i += 2 {
			fields.Set(change[i], change[i+1])
		}
		return fields
	}
	require.Contains(t, s.kim.get(t, page).text, "The business is not in test mode")
	refused := s.kim.post(t, page, form())
	require.Equal(t, 409, refused.status)
	require.Contains(t, refused.text, "not in test mode")
	require.NoError(t, sandbox.Setup(t.Context(), s.hub.db, s.tenant.ID, []string{"aggregator-a"},
		"http://127.0.0.1:9"))
	alone := s.kim.get(t, page)
	require.Equal(t, 200, alone.status, "a simulator that does not answer keeps nobody from the page")
	require.Contains(t, alone.text, "Place orders")
	require.Contains(t, alone.text, "whether faults are active: the simulator at http://127.0.0.1:9 does not respond")
	for says, fields := range map[string]url.Values{
		"Orders must be a number": form("count", "many"),
		"Orders a second must be": form("rate", "NaN"),
		"Seed must be a number":   form("seed", "-1"),
		"orders must be from 1":   form("count", "501"),
		"kind must be order":      form("kind", "riot"),
		"Enter a short reason":    form("why", " "),
	} {
		refused := s.kim.post(t, page, fields)
		require.Equal(t, 400, refused.status, says)
		require.Contains(t, refused.text, says)
	}
	require.Equal(t, 503, s.kim.post(t, page, form()).status, "nothing is played by a hub that does not run")
	fault := func(change ...string) url.Values {
		fields := url.Values{"kind": {"fail"}, "platform": {""}, "call": {""}, "status": {"500"}, "delay": {"2"},
			"probability": {"100"}, "seed": {""}, "lasts": {"60"}, "why": {"a try"}}
		for i := 0; i < len(change); i += 2 {
			fields.Set(change[i], change[i+1])
		}
		return fields
	}
	for says, fields := range map[string]url.Values{
		"must be from 400 to 599":              fault("status", "99"),
		"is not simulated, only: aggregator-a": fault("platform", "web"),
		"How often, in percent must be":        fault("probability", "often"),
		"above 0 and at most 100":              fault("probability", "0"),
		"kind &#34;eat&#34; must be":           fault("kind", "eat"),
		"lasts_ms must be":                     fault("lasts", "-1"), "Enter a short reason": fault("why", ""),
	} {
		refused := s.kim.post(t, page+"faults/", fields)
		require.Equal(t, 400, refused.status, says)
		require.Contains(t, refused.text, says)
	}

	viewer := s.user(t, "vic@example.com", access.Viewer, s.tenant.ID)
	require.NotContains(t, viewer.get(t, page).text, "Place orders")
	require.NotContains(t, viewer.get(t, page).text, "Start a fault")
	stranger := s.user(t, "eve@example.com", access.Support)
	require.Equal(t, 404, stranger.get(t, page).status, "of another business there is nothing")
	for path, fields := range map[string]url.Values{"": form(), "faults/": fault(), "faults/off/": fault()} {
		require.Equal(t, 403, viewer.post(t, page+path, fields).status)
		require.Equal(t, 404, stranger.post(t, page+path, fields).status)
	}

	checklist := s.kim.get(t, shell.BusinessLink(s.tenant.ID, "checklist/"))
	require.Equal(t, 200, checklist.status)
	require.Contains(t, checklist.text, "0 of 10 steps")
	require.Contains(t, checklist.text, "http://example.com/external/api/v1/stores/")
}
