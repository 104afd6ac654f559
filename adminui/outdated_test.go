package adminui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// hiddenOf returns the hidden fields of the last form of a page, with a reason.
func hiddenOf(page string) url.Values {
	form := url.Values{"why": {"as agreed by phone"}}
	for _, found := range hiddenPattern.FindAllStringSubmatch(page, -1) {
		form.Set(found[1], found[2])
	}
	return form
}

func TestOutdatedConfirmationKeepsItsReason(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	revision := func(n int) string { return "b/7/history/" + revisionIDs[n].String() + "/" }
	for page, shown := range map[string]string{"b/7/deliveries/resend/": "count", "b/7/problems/31/resend/": "count",
		revision(1) + "rollback/": "latest", revision(0) + "restore/?at=0": "state"} {
		at := base + shell.Root + page
		_, body := getPage(t, client, at)
		form := hiddenOf(body)
		require.True(t, form.Has(shown), page)
		form.Set(shown, "99")
		response, body := postForm(t, client, at, at, form)
		assert.Equal(t, http.StatusConflict, response.StatusCode, page)
		assert.Contains(t, body, `value="as agreed by phone"`, page)
	}
	assert.Empty(t, f.done)
}

func TestOutdatedPlatformFormIsSavedAfterComparing(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/settings/platform/?name=tasty-eats"
	_, page := getPage(t, client, at)
	version := regexp.MustCompile(`name="version" value="(\w+)"`)
	form := url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]}, "name": {"tasty-eats"},
		"version": {version.FindStringSubmatch(page)[1]}, "served_by": {"aggregator-a"},
		"settings": {`{"nutrition":true}`}, "why": {"A new shop."}}
	f.platforms[0].Version = strings.Repeat("d", 32)
	response, page := postForm(t, client, at, at, form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	for _, kept := range []string{`{&#34;nutrition&#34;:true}</textarea>`, `value="A new shop."`,
		text.PlatformConflict} {
		assert.Contains(t, page, kept)
	}
	require.Empty(t, f.done)
	form.Set("version", version.FindStringSubmatch(page)[1])
	response, _ = postForm(t, client, at, at, form)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, f.done, 1)
}

func TestOutdatedMonitoringRulesAreSavedOnConfirmation(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/settings/"
	_, page := getPage(t, client, at)
	seen := regexp.MustCompile(`name="seen" value="([^"]+)"`)
	form := url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]}, "seen": {"other rules"}, "ack": {"5m"},
		"silent": {"7m"}, "close": {"false"}, "why": {"as agreed by phone"}}
	response, page := postForm(t, client, at, at+"watching/", form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, page, "Confirm to replace them.")
	require.Empty(t, f.done)
	form.Set("seen", html.UnescapeString(seen.FindStringSubmatch(page)[1]))
	response, _ = postForm(t, client, at, at+"watching/", form)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, f.done, 1)
}

func TestOutdatedUserFormDoesNotRestoreAccess(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	vera := &f.users[1]
	at := fmt.Sprintf("%s%s%d/", base, shell.UsersPath, vera.ID)
	_, page := getPage(t, client, at)
	seen := func() string {
		found := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(page)
		require.NotNil(t, found)
		return html.UnescapeString(found[1])
	}
	form := url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]}, "seen": {seen()}, "role": {"support"},
		"businesses": {"7"}, "allowed": {text.Yes}, "why": {"as agreed by phone"}}
	vera.DisabledAt = noon // by another admin
	response, page := postForm(t, client, at, at, form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, page, text.ProblemUserChanged)
	require.Contains(t, page, `value="as agreed by phone"`)
	require.Equal(t, []any{access.Viewer, noon}, []any{vera.Role, vera.DisabledAt})
	form.Set("seen", seen())
	response, _ = postForm(t, client, at, at, form)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, []any{access.Support, true}, []any{vera.Role, vera.DisabledAt.IsZero()})
	response, _ = postForm(t, client, at, at, form)
	require.Equal(t, http.StatusOK, response.StatusCode, "the same form again")
}

func TestSendingTodaysOrdersExpectsTheNumberShown(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/orders/?state=not_received"
	_, page := getPage(t, client, at)
	require.Contains(t, page, "Send today&#39;s orders")
	form := url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]}, "why": {"the POS is back"}, "count": {"12"}}
	f.notices.Unnotified[0].Count = 15
	send := base + shell.Root + "b/7/orders/send/"
	response, page := postForm(t, client, at, send, form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, page, "There were 12 of these orders, and now there are 15.")
	require.Contains(t, page, `value="the POS is back"`)
	require.Contains(t, page, `name="count" value="15"`)
	require.Empty(t, f.done)
	form.Set("count", "15")
	response, _ = postForm(t, client, at, send, form)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, f.done, 1)
}

func TestReasonOfBlanksIsRejectedByTheBrowser(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	for _, page := range []string{"b/7/deliveries/", "b/7/webhooks/3/", "b/7/settings/platform/?name=tasty-eats"} {
		_, body := getPage(t, client, base+shell.Root+page)
		assert.Regexp(t, `name="why"[^>]* pattern="\.\*\\S\.\*"`, body, page)
		assert.NotRegexp(t, `name="why"( (value|maxlength)="[^"]*")* required`, body, page)
	}
}

func TestMalformedQueryIsRejected(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	status, body := getPage(t, client, base+shell.Root+"b/7/deliveries/?webhook=3;state=failed")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "The filter is not valid")
	f.broken = core.Errorf(core.TooSlow, "the request did not arrive in time")
	status, _ = getPage(t, client, base+shell.Root+"b/7/deliveries/")
	require.Equal(t, http.StatusRequestTimeout, status, "each code has its status")
}

func TestActionSaysWhatItHasNotFound(t *testing.T) {
	f := fullHub()
	f.retryError = core.Errorf(core.NotFound, "the request is not set aside any more")
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.PluginsPath + "aggregator-a/"
	_, page := getPage(t, client, at)
	response, page := postForm(t, client, at, at+"retry/", url.Values{
		"token": {tokenPattern.FindStringSubmatch(page)[1]}, "id": {"1"}, "why": {"as agreed by phone"}})
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Contains(t, page, "the request is not set aside any more")
	require.NotContains(t, page, text.NotFound)
	status, page := getPage(t, client, base+shell.Root+"b/7/history/"+revisionIDs[0].String()+"/restore/?at=2")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, page, text.RestoreNot)
	status, page = getPage(t, client, base+shell.Root+"b/7/history/"+idAt(9999).String()+"/")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, page, text.NotFound)
}
