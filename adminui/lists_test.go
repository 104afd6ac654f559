package adminui_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// getPage returns the status and the body of a page.
func getPage(t *testing.T, client *http.Client, address string) (int, string) {
	t.Helper()
	response, err := client.Get(address)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// postForm sends a form like a browser.
func postForm(t *testing.T, client *http.Client, page, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.Header.Set("Referer", page)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

var tokenPattern = regexp.MustCompile(`name="token" value="([^"]+)"`)

func TestUnreadableFilterFindsNothing(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	for _, query := range []string{"webhook=%2317", "webhook=order_placed", "state=oops"} {
		status, page := getPage(t, client, base+shell.Root+"b/7/deliveries/?"+query)
		assert.Equal(t, http.StatusBadRequest, status, query)
		assert.True(t, strings.Contains(page, "The filter is not valid"), query)
		assert.False(t, strings.Contains(page, `name="id"`), query)
		assert.False(t, strings.Contains(page, "Bulk resend"), query)
		for _, path := range []string{"b/7/deliveries/?format=csv&", "b/7/deliveries/resend/?"} {
			status, page = getPage(t, client, base+shell.Root+path+query)
			assert.Equal(t, http.StatusBadRequest, status, path+query)
			assert.False(t, strings.Contains(page, "Resend 1 event delivery"), path+query)
		}
	}
	status, page := getPage(t, client, base+shell.Root+"b/7/deliveries/?webhook=3%20")
	assert.Equal(t, http.StatusOK, status)
	assert.True(t, strings.Contains(page, "Bulk resend"), "Bulk resend")
}

func TestDeliveryRowsHaveDistinctLabels(t *testing.T) {
	f := fullHub()
	f.deliveries[1].OrderID, f.deliveries[2].OrderID = 10412, 10411
	base := serveConsole(t, f)
	_, page := getPage(t, adminClient(t, base), base+shell.Root+"b/7/deliveries/")
	assert.True(t, strings.Contains(page, `<a class="cell" href="/console/b/7/orders/10412/" title="Order 10412">`),
		`<a class="cell" href="/console/b/7/orders/10412/" title="Order 10412">`)
	names := regexp.MustCompile(`type="checkbox"[^>]* aria-label="Select ([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, names, len(f.deliveries)-1, "all but the one of a disabled webhook")
	seen := map[string]bool{}
	for _, name := range names {
		assert.False(t, seen[name[1]], name[1])
		seen[name[1]] = true
	}
	assert.True(t, seen["order_placed, Order 10412, created 21 Nov 2026 05:49:00 CST"], "%v", seen)
}

func TestCSVFileContainsTheWholeList(t *testing.T) {
	f := fullHub()
	f.deliveries = repeatRows(f.deliveries)
	base := serveConsole(t, f)
	client := adminClient(t, base)
	filtered := "b/7/deliveries/?event=order_placed&before=" + f.deliveries[3].ID.String()
	_, page := getPage(t, client, base+shell.Root+filtered)
	assert.True(t, strings.Contains(page, `href="/console/b/7/deliveries/?event=order_placed&amp;format=csv"`),
		`href="/console/b/7/deliveries/?event=order_placed&amp;format=csv"`)
	const limit = 10_000
	for len(f.deliveries) < limit {
		f.deliveries = append(f.deliveries, f.deliveries...)
	}
	f.deliveries = f.deliveries[:limit]
	_, file := getPage(t, client, base+shell.Root+"b/7/deliveries/?format=csv")
	assert.Equal(t, limit+1, strings.Count(file, "\n"), "a line of names, and each row")
	f.deliveries = append(f.deliveries, f.deliveries[0])
	_, file = getPage(t, client, base+shell.Root+"b/7/deliveries/?format=csv")
	lines := strings.Split(strings.TrimSpace(file), "\n")
	require.Len(t, lines, limit+2)
	assert.Equal(t,
		"These are the first 10\u202f000 rows. There are more: use the filters of the list.,,,,,,,",
		lines[limit+1])
}

func TestFormWithoutSessionReturnsToItsPage(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for page, next := range map[string]string{
		base + shell.Root + "b/7/webhooks/3/?done=tested&x=1": shell.Root + "b/7/webhooks/3/?x=1",
		"https://elsewhere.example" + shell.Root + "b/7/":     shell.Root,
		"": shell.Root,
	} {
		response, _ := postForm(t, client, page, base+shell.Root+"b/7/webhooks/3/pause/",
			url.Values{"why": {"it moves"}})
		require.Equal(t, http.StatusSeeOther, response.StatusCode)
		to, err := response.Location()
		require.NoError(t, err)
		assert.Equal(t, next, to.Query().Get("next"))
		_, signIn := getPage(t, client, to.String())
		assert.True(t, strings.Contains(signIn, "You were signed out, so nothing was done."),
			"You were signed out, so nothing was done.")
		assert.True(t, strings.Contains(signIn, `name="next" value="`+next+`"`), `name="next" value="`+next+`"`)
	}
	_, signIn := getPage(t, client, base+shell.SignInPath)
	assert.False(t, strings.Contains(signIn, "You were signed out"), "You were signed out")
}

func TestNoBusinessHidesTheProblemsOfAnother(t *testing.T) {
	f := fullHub()
	failing := func(business core.BusinessID, id int64, address string) console.Endpoint {
		return console.Endpoint{Business: business, ID: id, EventType: "order_placed", URL: address, Active: true,
			Health: console.Health{FailedAt: minutesAgo(1), FailingSince: minutesAgo(9), Status: 503,
				Class: string(webhook.Status)}}
	}
	f.endpoints = nil
	for id := range int64(13) {
		f.endpoints = append(f.endpoints, failing(7, 100+id, "https://alike.example/"),
			failing(7, 200+id, fmt.Sprintf("https://pos-%d.example/", id)))
	}
	f.endpoints = append(f.endpoints, failing(12, 900, "https://other.example/"))
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root)
	assert.True(t, strings.Contains(page, long+" · order_placed webhook 900"),
		long+" · order_placed webhook 900")
	assert.True(t, strings.Contains(page, "13 webhooks at alike.example"), "13 webhooks at alike.example")
	assert.True(t, strings.Contains(page, "Problems of webhooks that are not shown here: 3."),
		"Problems of webhooks that are not shown here: 3.")
	for len(f.endpoints) < 100 {
		f.endpoints = append(f.endpoints, f.endpoints[0])
	}
	_, page = getPage(t, client, base+shell.Root)
	assert.True(t, strings.Contains(page, "Problems of webhooks that are not shown here: number unknown."),
		"Problems of webhooks that are not shown here: number unknown.")
}

func TestTruncatedListsSaySo(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	expectedTexts := map[string]string{"": "Only 200 businesses are shown",
		"b/7/":        "More: search by name",
		"b/7/grid/":   "10 of 11 platforms are shown",
		"search/?q=a": "Only 10 results of each kind are shown"}
	for path, expected := range expectedTexts {
		_, page := getPage(t, client, base+shell.Root+path)
		assert.False(t, strings.Contains(page, expected), "%s not truncated", path)
	}
	for id := range core.BusinessID(200) {
		f.businesses = append(f.businesses,
			core.Business{ID: 1000 + id, Name: fmt.Sprint("Merchant ", id), Timezone: "UTC", CreatedAt: minutesAgo(9)})
	}
	for n := range 11 {
		f.hits = append(f.hits, console.Hit{Business: 7, Kind: "store", ID: fmt.Sprint(n),
			Title: fmt.Sprint("Market ", n)})
	}
	for n := range 8 {
		f.morePlatforms = append(f.morePlatforms, core.Platform{Name: fmt.Sprint("own-", n), ServedBy: "own"})
	}
	for path, expected := range expectedTexts {
		_, page := getPage(t, client, base+shell.Root+path)
		assert.True(t, strings.Contains(page, expected), path)
		assert.False(t, strings.Contains(page, "Market 10"), "the eleventh of its kind")
	}
	_, file := getPage(t, client, base+shell.Root+"b/7/grid/?format=csv")
	assert.Contains(t, file, ",own-7,", "the CSV has all platforms")
}

func TestPlatformPageShowsTheStateOfTokens(t *testing.T) {
	base := serveConsole(t, fullHub())
	_, page := getPage(t, adminClient(t, base), base+shell.Root+"b/7/settings/platform/?name=tasty-eats")
	for _, expected := range []string{"Access token partner</dt>", "renewed; valid until ",
		"the aggregator rejected the credentials. The hub retries with each call.", "Access token another</dt>",
		"not requested yet", "Stores with an own value: s1."} {
		assert.True(t, strings.Contains(page, expected), expected)
	}
}

func TestNewPlatformNamesAreBoundedInCharacters(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/settings/"
	_, page := getPage(t, client, at)
	token := tokenPattern.FindStringSubmatch(page)[1]
	for characters, created := range map[int]int{255: 1, 256: 0} {
		f.done = nil
		postForm(t, client, at, at+"platforms/", url.Values{"token": {token}, "why": {"A new shop."},
			"name": {strings.Repeat("é", characters)}, "served_by": {core.ServedByMerchant}})
		assert.Len(t, f.done, created, characters)
	}
}

func TestRejectedFormKeepsItsInput(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/settings/platform/?name=tasty-eats"
	_, page := getPage(t, client, at)
	token := tokenPattern.FindStringSubmatch(page)[1]
	secret := regexp.MustCompile(`name="(secret-[^"]+)"`).FindStringSubmatch(page)[1]
	endpoint := regexp.MustCompile(`name="(endpoint-[^"]+)"`).FindStringSubmatch(page)[1]
	response, page := postForm(t, client, at, at,
		url.Values{"token": {token}, "name": {"tasty-eats"}, "version": {"v-before"}, "served_by": {"aggregator-a"},
			"settings": {`{"nutrition": yes`}, "why": {"A new shop."},
			secret: {"s3cr3t-typed"}, endpoint: {"https://typed.example"}})
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	for _, expected := range []string{`{&#34;nutrition&#34;: yes</textarea>`, `value="A new shop."`,
		`value="https://typed.example"`, `value="v-before"`, "Enter them again.", `role="alert"`} {
		assert.True(t, strings.Contains(page, expected), expected)
	}
	assert.False(t, strings.Contains(page, "s3cr3t-typed"), "s3cr3t-typed")

	at = base + shell.Root + "b/7/sandbox/"
	_, page = getPage(t, client, at)
	assert.False(t, strings.Contains(page, `<details class="act" name="act" open`),
		`<details class="act" name="act" open`)
	response, page = postForm(t, client, at, at+"faults/",
		url.Values{"token": {token}, "kind": {"delay"}, "delay": {"soon"}, "probability": {"100"}, "lasts": {"60"},
			"why": {"Slow?"}})
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.Equal(t, 1, strings.Count(page, `<details class="act" name="act" open`))
	assert.True(t, strings.Contains(page, `value="soon"`), `value="soon"`)
	assert.True(t, strings.Contains(page, `value="Slow?"`), `value="Slow?"`)
	assert.True(t, strings.Contains(page, `<option value="delay" selected`), `<option value="delay" selected`)
	assert.True(t, strings.Contains(page, `href="/console/b/7/sandbox/?format=csv"`),
		`href="/console/b/7/sandbox/?format=csv"`)
	assert.Empty(t, f.done)
}

func TestOverviewShowsItsTime(t *testing.T) {
	base := serveConsole(t, fullHub())
	_, page := getPage(t, adminClient(t, base), base+shell.Root)
	assert.True(t, strings.Contains(page, "As of "+noon.Format(time.TimeOnly)+" UTC."),
		"As of "+noon.Format(time.TimeOnly)+" UTC.")
	assert.True(t, strings.Contains(page, `data-every="30"`), `data-every="30"`)
}

func TestPagesWithHoursAndPluginsRefreshByTime(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	for _, path := range []string{"", "grid/", "stores/1040/", "items/501/"} {
		_, page := getPage(t, client, base+shell.Root+"b/7/"+path)
		assert.Contains(t, page, `data-every="30"`, path)
	}
}

func TestFormURLRedirectsToItsPage(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for form, page := range map[string]string{
		"b/7/settings/watching/": "b/7/settings/", "b/7/sandbox/faults/off/": "b/7/sandbox/",
		"b/7/webhooks/3/pause/": "b/7/webhooks/3/",
		"b/7/deliveries/retry/": "b/7/deliveries/", "sign-out/": "",
	} {
		response, err := client.Get(base + shell.Root + form)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusSeeOther, response.StatusCode, form)
		assert.Equal(t, shell.Root+page, response.Header.Get("Location"))
	}
}

func TestAuditTrailLinksToObjects(t *testing.T) {
	f := fullHub()
	delivery := f.deliveries[0].ID.String()
	for _, object := range []string{"store/1040", "delivery/" + delivery, "user/2", "platform/web"} {
		f.audit = append(f.audit, console.Entry{ID: idAt(1), At: minutesAgo(1), Actor: "hub", Action: "a",
			Object: object})
	}
	base := serveConsole(t, f)
	client := adminClient(t, base)
	hrefs := func(page string) (list []string) {
		links := regexp.MustCompile(`<a class="[^"]*" href="([^"]+)"[^>]*>\w+/[^<]`).FindAllStringSubmatch(page, -1)
		for _, link := range links {
			list = append(list, link[1])
		}
		return list
	}
	_, page := getPage(t, client, base+shell.Root+"b/7/audit/")
	assert.Equal(t, []string{"/console/b/7/webhooks/3/", "/console/b/7/webhooks/5/", "/console/b/7/stores/1040/",
		"/console/b/7/deliveries/" + delivery + "/"}, hrefs(page))
	_, page = getPage(t, client, base+shell.Root+"audit/")
	assert.Equal(t, []string{"/console/users/2/"}, hrefs(page))
}

func TestEmptyListsNameTheirTime(t *testing.T) {
	base := serveConsole(t, emptyHub())
	client := adminClient(t, base)
	_, orders := getPage(t, client, base+shell.Root+"b/7/orders/")
	assert.Contains(t, orders, "No orders in this time")
	assert.Contains(t, orders, "Select a longer time to see older ones. Channels send orders")
	_, all := getPage(t, client, base+shell.Root+"b/7/orders/?when=any")
	assert.NotContains(t, all, "in this time")
	_, business := getPage(t, client, base+shell.Root+"b/7/")
	assert.Contains(t, business, `href="/console/b/7/checklist/">First integration</a>`, "the next step")
}

func TestSearchFindsAnOrderByItsWrittenNumber(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	for _, query := range []string{"10412", "%2310412", "order+10412", "Order+%2310412"} {
		_, page := getPage(t, client, base+shell.Root+"search/?q="+query)
		require.Contains(t, page, `<h1>Order 10412</h1>`, query)
	}
}
