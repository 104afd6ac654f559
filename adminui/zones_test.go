package adminui_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func TestStoreHoursFollowTheBusinessInAnyZone(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.Root + "b/7/stores/"
	for _, zone := range []string{"", "utc"} {
		address, err := url.Parse(page)
		require.NoError(t, err)
		client.Jar.(*cookiejar.Jar).SetCookies(address, []*http.Cookie{{Name: "servery-zone", Value: zone}})
		f.storeFilter = console.StoreFilter{}
		status, _ := getPage(t, client, page)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "America/Chicago", f.storeFilter.Local.Location().String(), zone)
	}
}

// readTimesInUTC selects UTC in the user menu.
func readTimesInUTC(t *testing.T, client *http.Client, base string) {
	t.Helper()
	address, err := url.Parse(base + shell.Root)
	require.NoError(t, err)
	client.Jar.(*cookiejar.Jar).SetCookies(address, []*http.Cookie{{Name: "servery-zone", Value: "utc"}})
}

func TestTimesOfViewsAreTheSameInUTC(t *testing.T) {
	f := fullHub()
	f.views = nil
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/deliveries/"
	response, err := client.Get(at + "?from=2026-03-01T08:00&to=2026-03-01T09:30")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	copied := response.Request.URL
	require.Equal(t, "2026-03-01T08:00-06:00", copied.Query().Get("from"))
	_, page := getPage(t, client, copied.String())
	require.Contains(t, page, `value="2026-03-01T08:00"`)
	filters := html.UnescapeString(findString(t, `name="filters" value="([^"]+)"`, page))
	_, page = postForm(t, client, at, at+"views/", url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]},
		"filters": {filters}, "name": {"That morning"}})
	require.Contains(t, page, "Delete view")
	f.views = append(f.views, f.views[0])
	f.views[1].ID, f.views[1].Filters = 1, "from=2026-03-01T08:00&to=2026-03-01T09:30" // as they once were
	readTimesInUTC(t, client, base)
	for _, path := range []string{fmt.Sprintf("%s?view=%d", at, f.views[0].ID), at + "?view=1", copied.String()} {
		f.filter = webhook.Filter{}
		_, page = getPage(t, client, path)
		require.Equal(t, time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC), f.filter.From.UTC(), path)
		require.Equal(t, time.Date(2026, 3, 1, 15, 30, 0, 0, time.UTC), f.filter.To.UTC(), path)
		require.Contains(t, page, `value="2026-03-01T14:00"`)
		require.Contains(t, page, "Delete view")
	}
}

func TestRedirectToOffsetsKeepsTheMessage(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for _, path := range []string{"deliveries/", "orders/", "orders/refused/"} {
		at := base + shell.Root + "b/7/" + path
		response, err := client.Get(at + "?from=2026-03-01T08:00&to=2026-03-01T09:30&done=retried")
		require.NoError(t, err)
		page, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		require.Equal(t, url.Values{"from": {"2026-03-01T08:00-06:00"}, "to": {"2026-03-01T09:30-06:00"},
			"done": {"retried"}}, response.Request.URL.Query(), path)
		require.Contains(t, string(page), `value="2026-03-01T08:00"`, path)
		require.Contains(t, string(page), text.DeliveriesRetry, path)
	}
}

func TestViewAppliedInAnotherZoneStaysOpen(t *testing.T) {
	f := fullHub()
	f.views = f.views[:1]
	f.views[0].Filters = "from=2026-03-01T08:00-06:00&to=2026-03-01T09:30-06:00"
	base := serveConsole(t, f)
	client := adminClient(t, base)
	readTimesInUTC(t, client, base)
	at := base + shell.Root + "b/7/deliveries/"
	_, page := getPage(t, client, at+"?view=1")
	form := url.Values{"when": {""}}
	for _, name := range []string{"from", "to"} {
		form.Set(name, findString(t, `name="`+name+`"[^>]* value="([^"]*)"`, page))
	}
	require.Equal(t, "2026-03-01T14:00", form.Get("from"))
	_, page = getPage(t, client, at+"?"+form.Encode())
	require.Regexp(t, `\?view=1"\s+aria-current="true"`, page)
	require.Contains(t, page, "Delete view")
	form.Set("to", "2026-03-01T15:31")
	_, page = getPage(t, client, at+"?"+form.Encode())
	require.NotContains(t, page, "Delete view", "another time")
}

func TestRejectedOrdersFollowTheTimesOfTheList(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for page, link := range map[string]string{
		"orders/?when=yesterday": "orders/refused/?fault=order&state=missing&when=yesterday",
		"orders/?from=2026-03-01T08:00&to=2026-03-01T09:30": "orders/refused/?fault=order&" +
			"from=2026-03-01T08%3A00-06%3A00&state=missing&to=2026-03-01T09%3A30-06%3A00",
		"orders/?when=any": "orders/refused/?fault=order&state=missing",
		"orders/":          "orders/refused/?fault=order&state=missing&when=24h",
	} {
		status, shown := getPage(t, client, base+shell.Root+"b/7/"+page)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, shown, `href="`+shell.Root+"b/7/"+html.EscapeString(link)+`"`)
		counted := f.rejectedFilter
		require.True(t, counted.Missing)
		status, _ = getPage(t, client, base+shell.Root+"b/7/"+link)
		require.Equal(t, http.StatusOK, status)
		listed := f.rejectedFilter
		require.WithinDuration(t, counted.Since, listed.Since, time.Minute, page)
		require.Equal(t, counted.Before, listed.Before, page)
		require.Equal(t, []any{counted.Fault, true}, []any{listed.Fault, listed.Missing})
	}
	_, overview := getPage(t, client, base+shell.Root+"b/7/")
	require.Contains(t, overview, html.EscapeString("orders/refused/?fault=order&state=missing&when=24h"))
	status, _ := getPage(t, client, base+shell.Root+"b/7/orders/refused/?when=oops")
	require.Equal(t, http.StatusBadRequest, status)
}

func TestFormKeepsItsInputIfSomethingIsMissing(t *testing.T) {
	f := fullHub()
	f.keyError = core.Errorf(core.NotFound, "there is no platform %q", "webb")
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.Root + "b/7/keys/"
	_, shown := getPage(t, client, page)
	response, body := postForm(t, client, page, page, url.Values{"token": {tokenPattern.FindStringSubmatch(shown)[1]},
		"why": {"for the shop"}, "username": {"shop"}, "scope": {"channel"}, "platform": {"webb"}})
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	for _, part := range []string{"there is no platform &#34;webb&#34;", `value="webb"`, `value="for the shop"`} {
		assert.Contains(t, body, part)
	}
}

func TestListReadWholeHasItsNextPage(t *testing.T) {
	f := fullHub()
	f.platforms = nil
	for n := range shell.PageSize + 3 {
		f.platforms = append(f.platforms, console.PlatformSettings{Platform: core.Platform{
			Name: fmt.Sprintf("platform-%03d", n), ServedBy: core.ServedByMerchant}})
	}
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, first := getPage(t, client, base+shell.Root+"b/7/settings/")
	_, next := getPage(t, client, base+shell.Root+"b/7/settings/?after=platform-049")
	assert.Contains(t, first, "platform-049")
	assert.NotContains(t, first, "platform-050")
	assert.NotContains(t, next, ">platform-049<")
	assert.Contains(t, next, "platform-052")
}

func TestConfirmedPageCatchesUpOnConnecting(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/?done=retried", browsertest.Views()[0])
	page.Wait(t, `performance.getEntriesByType("resource").some((e) => e.initiatorType === "fetch" && `+
		`new URL(e.name).pathname.endsWith("/deliveries/"))`)
	assert.Empty(t, page.Problems())
}
