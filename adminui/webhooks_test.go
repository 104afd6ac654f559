package adminui_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
)

func TestEventHeaderIsSetOnTheWebhooksPage(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.Root + "b/7/webhooks/3/"
	_, body := getPage(t, client, page)
	require.Contains(t, body, "X-Hook-Event: 18")
	token := tokenPattern.FindStringSubmatch(body)[1]
	set := func(name, value string) (*http.Response, string) {
		return postForm(t, client, page, page+"event-header/",
			url.Values{"token": {token}, "why": {"it dispatches on it"}, "name": {name}, "value": {value}})
	}
	response, rejected := set("X-Event-Type", "name")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Contains(t, rejected, "event_type_header is set by the hub and cannot be chosen")
	require.Contains(t, rejected, `value="X-Event-Type"`, "the form keeps its input")

	response, body = set(" X-Other ", "number")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, body, "The header is saved.")
	require.Contains(t, body, "X-Other: 18")
	last := f.done[len(f.done)-1]
	require.Equal(t, []string{"webhook.update", "it dispatches on it"}, []string{last.Action, last.Why})
	_, body = set("", "name")
	require.NotContains(t, body, "X-Other")
}

func TestWebhookLinksTheFailuresThatItCounts(t *testing.T) {
	base := serveConsole(t, fullHub())
	_, page := getPage(t, adminClient(t, base), base+shell.Root+"b/7/webhooks/3/")
	require.Contains(t, page, "deliveries/?state=failed&amp;webhook=3&amp;of=failed&amp;when=24h")
}

func TestPauseExplainsMissedOrdersOfTheLastWebhook(t *testing.T) {
	const missed = "You can send missed orders of the same day"
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root+"b/7/webhooks/3/")
	require.Contains(t, page, missed)
	f.endpoints[0].OthersActive = true
	_, page = getPage(t, client, base+shell.Root+"b/7/webhooks/3/")
	require.NotContains(t, page, missed)
}
