package hub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/access/oidc"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

// ssoBrowser signs in through the identity provider.
type ssoBrowser struct {
	*api
	cookie string // the sign-in cookie
}

// signIn signs in at the provider. It returns the URL that the provider redirects to, which is not yet opened.
func (s *ssoBrowser) signIn(t *testing.T, next string) string {
	t.Helper()
	r := s.open(t, shell.ProviderPath+"?next="+url.QueryEscape(next))
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	for _, line := range r.header.Values("Set-Cookie") {
		if value, found := strings.CutPrefix(line, "servery-begun="); found {
			s.cookie = strings.SplitN(value, ";", 2)[0]
			require.Contains(t, line, "HttpOnly")
			require.Contains(t, line, "SameSite=Lax")
		}
	}
	client := &http.Client{Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(r.header.Get("Location"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusFound, response.StatusCode)
	back, err := url.Parse(response.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "https://hub.example"+shell.ProviderBackPath, back.Scheme+"://"+back.Host+back.Path)
	return back.RequestURI()
}

func (s *ssoBrowser) open(t *testing.T, path string) apiResponse {
	t.Helper()
	b := &browser{api: s.api}
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Cookie", "servery-begun="+s.cookie)
	return b.send(t, request)
}

// ssoHub is a hub with an identity provider and the user kim.
type ssoHub struct {
	*api
	provider *provider
}

func newSSOHub(t *testing.T) ssoHub {
	t.Helper()
	p := newProvider(t)
	a := newAPI(t, func(c *Config) {
		c.Roles = append(c.Roles, RoleConsole)
		c.Identity = Identity{BaseURL: "https://hub.example", Domains: []string{"@Partner.example"},
			Provider: oidc.Config{Issuer: p.URL, ClientID: providerClient, ClientSecret: providerSecret}}
	})
	a.hub.mountPages("http://example.com", 0)
	kim := a.user(t, "kim@example.com", access.Admin)
	require.Contains(t, kim.get(t, shell.SignInPath+"?next=/console/users/").text,
		`href="`+shell.ProviderPath+`?next=%2Fconsole%2Fusers%2F"`)
	return ssoHub{a, p}
}

// browser returns a browser whose user has the claims at the provider.
func (s ssoHub) browser(claims map[string]any) *ssoBrowser {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	s.provider.claims = claims
	return &ssoBrowser{api: s.api}
}

// signedIn signs in and returns a browser with the session.
func (s ssoHub) signedIn(t *testing.T, b *ssoBrowser, next string) *browser {
	t.Helper()
	r := b.open(t, b.signIn(t, next))
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	require.Equal(t, next, r.header.Get("Location"))
	return &browser{api: s.api, session: sessionOf(r)}
}

// rejection is the response to a failed sign-in.
type rejection struct {
	status int
	text   string // a part of the page
}

func (s ssoHub) requireRejected(t *testing.T, b *ssoBrowser, path string, want rejection) {
	t.Helper()
	r := b.open(t, path)
	require.Equal(t, want.status, r.status, r.text)
	require.Contains(t, r.text, want.text)
	require.Empty(t, sessionOf(r))
}

func TestSignInWithAnIdentityProvider(t *testing.T) {
	s := newSSOHub(t)
	tenant := hubtest.Business(t, s.hub.db)
	t.Run("a user signs in with the role of the account", func(t *testing.T) {
		require.Equal(t, http.StatusOK,
			s.signedIn(t, s.browser(map[string]any{"email": "Kim@Example.com"}), shell.UsersPath).get(t,
				shell.UsersPath).status)
	})
	t.Run("an unknown email is rejected", func(t *testing.T) {
		b := s.browser(map[string]any{"email": "eve@example.com"})
		s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusForbidden,
			"There is no account with this email"})
	})
	t.Run("a user of an allowed domain is created without access", func(t *testing.T) {
		signedIn := s.signedIn(t, s.browser(map[string]any{"email": "pat@partner.example"}), shell.Root)
		require.Contains(t, signedIn.get(t, shell.Root).text, "You have no access to a business yet")
		require.Equal(t, http.StatusNotFound, signedIn.get(t, shell.BusinessLink(tenant.ID, "")).status)
		require.Equal(t, http.StatusForbidden, signedIn.get(t, shell.UsersPath).status)
		created, err := accessdb.New(s.hub.db).UserByEmail(context.Background(), "pat@partner.example")
		require.NoError(t, err)
		require.Equal(t, access.Viewer, created.Role)
		require.Subset(t, s.auditActions(t, core.BusinessID(0)), []string{"user.sign_in_by_provider", "user.create"})
		s.signedIn(t, s.browser(map[string]any{"email": "pat@partner.example"}), shell.Root)
	})
	t.Run("the whole domain must match", func(t *testing.T) {
		for _, email := range []string{"eve@evil-partner.example", "eve@partner.example.evil.example",
			"partner.example", "eve@evil.example@partner.example.evil"} {
			b := s.browser(map[string]any{"email": email})
			s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusForbidden, "There is no account"})
		}
	})
	t.Run("the error of the provider is shown", func(t *testing.T) {
		s.requireRejected(t, s.browser(nil), shell.ProviderBackPath+"?error=access_denied%3Cscript%3E",
			rejection{http.StatusForbidden,
				"access_denied&lt;script&gt;"})
	})
	t.Run("redirects stay within the console", func(t *testing.T) {
		b := s.browser(nil)
		r := b.open(t, b.signIn(t, "https://evil.example/console/"))
		require.Equal(t, shell.Root, r.header.Get("Location"))
	})
	t.Run("a disabled user is rejected", func(t *testing.T) {
		kim, err := accessdb.New(s.hub.db).UserByEmail(context.Background(), "kim@example.com")
		require.NoError(t, err)
		require.NoError(t, accessdb.NewAccounts(s.hub.db).ChangeUser(context.Background(), access.User{ID: -1}, kim.ID,
			access.UserUpdate{Role: access.Admin, Disabled: true, Seen: kim.AccessVersion()}, "left"))
		b := s.browser(nil)
		s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusForbidden, "There is no account"})
	})
}

func TestInvalidIdentityTokensAreRejected(t *testing.T) {
	s := newSSOHub(t)
	for name, claims := range map[string]map[string]any{
		"an unverified email":        {"email_verified": false},
		"an email of unknown status": {"email_verified": nil},
		"no email":                   {"email": ""},
	} {
		t.Run(name+" is rejected", func(t *testing.T) {
			b := s.browser(claims)
			s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusForbidden,
				"has not verified your e-mail address"})
		})
	}
	for name, claims := range map[string]map[string]any{
		"another issuer": {"iss": "https://evil.example"}, "another client": {"aud": "other"},
		"an expired time": {"exp": time.Now().Add(-time.Hour).Unix()},
	} {
		t.Run("a token of "+name+" is rejected", func(t *testing.T) {
			b := s.browser(claims)
			s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusForbidden, "an invalid identity"})
		})
	}
	t.Run("a token for another sign-in is rejected", func(t *testing.T) {
		b := s.browser(map[string]any{"nonce": "other"})
		s.requireRejected(t, b, b.signIn(t, shell.Root), rejection{http.StatusUnauthorized,
			"started in another browser"})
	})
	t.Run("a sign-in ends in the browser that started it", func(t *testing.T) {
		b := s.browser(nil)
		back := b.signIn(t, shell.Root)
		s.requireRejected(t, s.browser(nil), back, rejection{http.StatusUnauthorized, "started in another browser"})
		other := s.browser(nil)
		other.signIn(t, shell.Root)
		s.requireRejected(t, other, back, rejection{http.StatusUnauthorized, "started in another browser"})
	})
	t.Run("a code works once and requires the verifier", func(t *testing.T) {
		b := s.browser(nil)
		back := b.signIn(t, shell.Root)
		require.Equal(t, http.StatusSeeOther, b.open(t, back).status)
		s.requireRejected(t, b, back, rejection{http.StatusForbidden, "did not accept the sign-in"})
		s.provider.mu.Lock()
		defer s.provider.mu.Unlock()
		require.GreaterOrEqual(t, len(s.provider.tokenRequests[len(s.provider.tokenRequests)-1].Get("code_verifier")),
			43)
	})
}

func TestUnavailableIdentityProviderIsReported(t *testing.T) {
	p := newProvider(t)
	p.Close()
	a := newAPI(t, func(c *Config) {
		c.Roles = append(c.Roles, RoleConsole)
		c.Identity = Identity{Provider: oidc.Config{Issuer: p.URL, ClientID: providerClient}}
	})
	a.hub.mountPages("http://example.com", 0)
	r := (&ssoBrowser{api: a}).open(t, shell.ProviderPath)
	require.Equal(t, http.StatusServiceUnavailable, r.status)
	require.Contains(t, r.text, "is unreachable")
	require.Contains(t, r.text, `name="password"`)
}
