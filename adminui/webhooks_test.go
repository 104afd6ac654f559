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
	_, shown := getPage(t, client, page)
	require.Contains(t, shown, "X-Hook-Event: 18")
	token := tokenPattern.FindStringSubmatch(shown)[1]
	set := func(name, value string) (*http.Response, string) {
		return postForm(t, client, page, page+"event-header/",
			url.Values{"token": {token}, "why": {"it dispatches on it"}, "name": {name}, "value": {value}})
	}
	response, again := set("X-Event-Type", "name")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Contains(t, again, "event_type_header is set by the hub and cannot be chosen")
	require.Contains(t, again, `value="X-Event-Type"`, "the form is as it was filled in")

	response, shown = set(" X-Other ", "number")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, shown, "The header is saved.")
	require.Contains(t, shown, "X-Other: 18")
	last := f.done[len(f.done)-1]
	require.Equal(t, []string{"webhook.update", "it dispatches on it"}, []string{last.Action, last.Why})
	_, shown = set("", "name")
	require.NotContains(t, shown, "X-Other")
}
