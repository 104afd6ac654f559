package adminui_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

func TestResendIsOfferedOnlyWhereItCanSucceed(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := func() string {
		_, body := getPage(t, client, base+shell.Root+"b/7/deliveries/"+f.deliveries[2].ID.String()+"/")
		return body
	}
	const resend = `/retry/"`
	require.Contains(t, page(), resend)
	f.deliveries[2].WebhookOff = true
	require.NotContains(t, page(), resend, "its webhook is paused")
	f.deliveries[2] = webhook.DeliveryRecord{ID: f.deliveries[2].ID, EventType: "order_placed", WebhookID: 3,
		State: webhook.Held, HeldReason: webhook.EarlierEvent, OrderID: 10412}
	waiting := page()
	require.NotContains(t, waiting, resend, "it waits for an earlier event")
	require.Contains(t, waiting, `<a class="button" href="/console/b/7/orders/10412/">Order 10412</a>`)

	_, list := getPage(t, client, base+shell.Root+"b/7/deliveries/")
	require.Equal(t, len(f.deliveries)-2, strings.Count(list, `name="id"`), "two rows cannot be selected")
}

func TestConflictSaysThatNothingWasResent(t *testing.T) {
	f := fullHub()
	f.refused = core.Errorf(core.Conflict, "delivery 7 cannot be sent now")
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.Root + "b/7/deliveries/"
	_, body := getPage(t, client, page)
	form := url.Values{"token": {tokenPattern.FindStringSubmatch(body)[1]}, "why": {"it is back"},
		"id": {f.deliveries[0].ID.String(), f.deliveries[1].ID.String()}}
	response, body := postForm(t, client, page, page+"retry/", form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, body, "Nothing was resent: delivery 7 cannot be sent now.")
}

func TestTestEventLinksNoJob(t *testing.T) {
	f := fullHub()
	f.deliveries[0].Test = true // of an event whose reference would be a job
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for _, page := range []string{"", f.deliveries[0].ID.String() + "/"} {
		_, body := getPage(t, client, base+shell.Root+"b/7/deliveries/"+page)
		require.Contains(t, body, "Test event")
		require.NotContains(t, body, "/jobs/"+f.deliveries[0].Reference)
	}
}

func TestDeliverySaysThatOlderAttemptsAreNotShown(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := func() string {
		_, body := getPage(t, client, base+shell.Root+"b/7/deliveries/"+f.deliveries[1].ID.String()+"/")
		return body
	}
	require.NotContains(t, page(), "the newest")
	f.attempts = slices.Repeat(f.attempts[:1], webhook.MaxAttemptsRead)
	f.deliveries[1].Attempts = 312
	require.Contains(t, page(), "the newest 200 of 312")
}
