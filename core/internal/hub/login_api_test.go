package hub

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
)

// loginBrowser is a browser whose user logs in at the aggregator of the platform tasty.
type loginBrowser struct {
	*browser
	page   string // of the login
	cookie string
}

func (c *credentialClient) loginBrowser(email string) *loginBrowser {
	return &loginBrowser{browser: c.user(c.t, email, access.Support, c.tenant.ID),
		page: shell.BusinessLink(c.tenant.ID, "settings/login/")}
}

func (b *loginBrowser) open(t *testing.T, path string) apiResponse {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if b.cookie != "" {
		request.AddCookie(&http.Cookie{Name: "servery-login", Value: b.cookie})
	}
	r := b.send(t, request)
	for _, line := range r.header.Values("Set-Cookie") {
		if value, found := strings.CutPrefix(line, "servery-login="); found {
			b.cookie = strings.SplitN(value, ";", 2)[0]
			require.Contains(t, line, "HttpOnly")
			require.Contains(t, line, "SameSite=Lax")
		}
	}
	return r
}

// begin opens the login of the credential merchant. It returns the parameters for the aggregator.
func (b *loginBrowser) begin(t *testing.T) url.Values {
	t.Helper()
	r := b.open(t, b.page+"?name=tasty&credential=merchant")
	require.Equal(t, http.StatusOK, r.status, r.text)
	_, link, found := strings.Cut(r.text, `href="https://127.0.0.1/oauth/authorize?`)
	require.True(t, found, r.text)
	link, _, _ = strings.Cut(link, `"`)
	sent, err := url.ParseQuery(html.UnescapeString(link))
	require.NoError(t, err)
	return sent
}

// finish returns from the aggregator.
func (b *loginBrowser) finish(t *testing.T, query url.Values) apiResponse {
	t.Helper()
	r := b.open(t, shell.PlatformLoginPath+"?"+query.Encode())
	if r.status != http.StatusSeeOther {
		return r
	}
	require.True(t, strings.HasPrefix(r.header.Get("Location"), b.page+"done/?"), r.header.Get("Location"))
	return b.open(t, r.header.Get("Location"))
}

func newLoginClient(t *testing.T) *credentialClient {
	t.Helper()
	c := newCredentialClient(t, `{"endpoint":"api","credentials":["merchant"]}`)
	c.hub.mountPages("http://example.com", 0)
	return c
}

func TestMerchantLogsInAtTheAggregator(t *testing.T) {
	c := newLoginClient(t)
	user := c.loginBrowser("kim@example.com")
	c.rider(c.order("T-1"))
	platform := shell.BusinessLink(c.tenant.ID, "settings/platform/?name=tasty")
	require.Contains(t, user.get(t, platform).text, "settings/login/?credential=merchant")

	sent := user.begin(t)
	require.Equal(t, "the-client", sent.Get("client_id"))
	require.Equal(t, "code", sent.Get("response_type"))
	require.Equal(t, "stores menus", sent.Get("scope"))
	require.Equal(t, "offline", sent.Get("access_type"))
	back := sent.Get("redirect_uri")
	require.True(t, strings.HasSuffix(back, shell.PlatformLoginPath), back)

	r := user.finish(t, url.Values{"code": {"code-1"}, "state": {sent.Get("state")}})
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	require.Contains(t, user.get(t, r.header.Get("Location")).text, "Logged in.")
	tokens, _ := c.aggregator.seen()
	require.Len(t, tokens, 1)
	require.Equal(t, "code-1", tokens[0].Get("code"))
	require.Equal(t, back, tokens[0].Get("redirect_uri"))
	challenge := sha256.Sum256([]byte(tokens[0].Get("code_verifier")))
	require.Equal(t, base64.RawURLEncoding.EncodeToString(challenge[:]), sent.Get("code_challenge"))

	c.await("the call with the login's token", func() bool { return c.aggregator.succeeded() == 1 })
	tokens, _ = c.aggregator.seen()
	require.Equal(t, "granted-refresh-1", tokens[1].Get("refresh_token"))
	c.requireNoSecretsInRecords()
	require.NotContains(t, user.get(t, platform).text, "granted-")
	audit := user.get(t, shell.BusinessLink(c.tenant.ID, "audit/")).text
	require.Contains(t, audit, "platform.login")
	require.NotContains(t, audit, "granted-")
}

func TestLoginOfAnotherBrowserIsRejected(t *testing.T) {
	c := newLoginClient(t)
	user, other := c.loginBrowser("kim@example.com"), c.loginBrowser("sam@example.com")
	sent := user.begin(t)
	elsewhere := other.finish(t, url.Values{"code": {"c"}, "state": {sent.Get("state")}})
	require.Contains(t, elsewhere.text, "another browser")
	wrong := user.finish(t, url.Values{"code": {"c"}, "state": {"wrong"}})
	require.Equal(t, http.StatusBadRequest, wrong.status)
	require.Contains(t, wrong.text, "another browser")
	again := user.finish(t, url.Values{"code": {"c"}, "state": {sent.Get("state")}})
	require.Contains(t, again.text, "another browser", "a login ends with the first answer")

	sent = user.begin(t)
	denied := user.finish(t, url.Values{"error": {"access_denied"}, "state": {sent.Get("state")}})
	require.Contains(t, denied.text, "access_denied")
	sent = user.begin(t)
	none := user.finish(t, url.Values{"code": {"code-without-refresh"}, "state": {sent.Get("state")}})
	require.Contains(t, none.text, "granted no refresh token")
	tokens, _ := c.aggregator.seen()
	require.Len(t, tokens, 1, "only the last one has a valid state and a code")
	sent = user.begin(t)
	c.aggregator.Close()
	down := user.finish(t, url.Values{"code": {"c"}, "state": {sent.Get("state")}})
	require.Equal(t, http.StatusServiceUnavailable, down.status)
	require.Contains(t, down.text, "the login failed")
	viewer := c.user(t, "viewer@example.com", access.Viewer, c.tenant.ID)
	require.Equal(t, http.StatusForbidden, viewer.get(t, user.page+"?name=tasty&credential=merchant").status)
}
