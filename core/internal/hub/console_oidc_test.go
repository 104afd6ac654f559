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

func TestSignInWithAnIdentityProvider(t *testing.T) {
	p := newProvider(t)
	a := newAPI(t, func(c *Config) {
		c.Roles = append(c.Roles, RoleConsole)
		c.Identity = Identity{BaseURL: "https://hub.example", Domains: []string{"@Partner.example"},
			Provider: oidc.Config{Issuer: p.URL, ClientID: providerClient, ClientSecret: providerSecret}}
	})
	a.hub.mountPages("http://example.com", 0)
	tenant := hubtest.Business(t, a.hub.db)
	kim := a.user(t, "kim@example.com", access.Admin)
	require.Contains(t, kim.get(t, shell.SignInPath+"?next=/console/users/").text,
		`href="`+shell.ProviderPath+`?next=%2Fconsole%2Fusers%2F"`)
	as := func(claims map[string]any) *ssoBrowser {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.claims = claims
		return &ssoBrowser{api: a}
	}
	enters := func(t *testing.T, s *ssoBrowser, next string) *browser {
		t.Helper()
		r := s.open(t, s.signIn(t, next))
		require.Equal(t, http.StatusSeeOther, r.status, r.text)
		require.Equal(t, next, r.header.Get("Location"))
		return &browser{api: a, session: sessionOf(r)}
	}
	refused := func(t *testing.T, s *ssoBrowser, path string, status int, words string) {
		t.Helper()
		r := s.open(t, path)
		require.Equal(t, status, r.status, r.text)
		require.Contains(t, r.text, words)
		require.Empty(t, sessionOf(r))
	}
	t.Run("who has an account comes in with its role", func(t *testing.T) {
		require.Equal(t, http.StatusOK,
			enters(t, as(map[string]any{"email": "Kim@Example.com"}), shell.UsersPath).get(t, shell.UsersPath).status)
	})
	t.Run("who has none stays out", func(t *testing.T) {
		s := as(map[string]any{"email": "eve@example.com"})
		refused(t, s, s.signIn(t, shell.Root), http.StatusForbidden, "There is no account with this email")
	})
	t.Run("who has none but is of a domain comes in, and sees nothing", func(t *testing.T) {
		b := enters(t, as(map[string]any{"email": "pat@partner.example"}), shell.Root)
		require.Contains(t, b.get(t, shell.Root).text, "You have no access to a business yet")
		require.Equal(t, http.StatusNotFound, b.get(t, shell.BusinessLink(tenant.ID, "")).status)
		require.Equal(t, http.StatusForbidden, b.get(t, shell.UsersPath).status)
		made, err := accessdb.New(a.hub.db).UserByEmail(context.Background(), "pat@partner.example")
		require.NoError(t, err)
		require.Equal(t, access.Viewer, made.Role)
		require.Subset(t, a.auditActions(t, core.BusinessID(0)), []string{"user.sign_in_by_provider", "user.create"})
		enters(t, as(map[string]any{"email": "pat@partner.example"}), shell.Root)
	})
	t.Run("a domain is the whole of it", func(t *testing.T) {
		for _, email := range []string{"eve@evil-partner.example", "eve@partner.example.evil.example",
			"partner.example", "eve@evil.example@partner.example.evil"} {
			s := as(map[string]any{"email": email})
			refused(t, s, s.signIn(t, shell.Root), http.StatusForbidden, "There is no account")
		}
	})
	for name, claims := range map[string]map[string]any{
		"an address that is not verified":     {"email_verified": false},
		"an address of which nothing is said": {"email_verified": nil},
		"no address":                          {"email": ""},
	} {
		t.Run(name+" lets nobody in", func(t *testing.T) {
			s := as(claims)
			refused(t, s, s.signIn(t, shell.Root), http.StatusForbidden, "has not verified your e-mail address")
		})
	}
	for name, claims := range map[string]map[string]any{
		"another issuer": {"iss": "https://evil.example"}, "another client": {"aud": "other"},
		"the past": {"exp": time.Now().Add(-time.Hour).Unix()},
	} {
		t.Run("a token of "+name+" is refused", func(t *testing.T) {
			s := as(claims)
			refused(t, s, s.signIn(t, shell.Root), http.StatusForbidden, "an invalid identity")
		})
	}
	t.Run("a token for another sign-in is refused", func(t *testing.T) {
		s := as(map[string]any{"nonce": "other"})
		refused(t, s, s.signIn(t, shell.Root), http.StatusUnauthorized, "started in another browser")
	})
	t.Run("nobody is signed in by a link that another browser began", func(t *testing.T) {
		s := as(nil)
		back := s.signIn(t, shell.Root)
		refused(t, as(nil), back, http.StatusUnauthorized, "started in another browser")
		victim := as(nil)
		victim.signIn(t, shell.Root)
		refused(t, victim, back, http.StatusUnauthorized, "started in another browser")
	})
	t.Run("a code works once, and not without the verifier", func(t *testing.T) {
		s := as(nil)
		back := s.signIn(t, shell.Root)
		require.Equal(t, http.StatusSeeOther, s.open(t, back).status)
		refused(t, s, back, http.StatusForbidden, "did not accept the sign-in")
		p.mu.Lock()
		defer p.mu.Unlock()
		require.GreaterOrEqual(t, len(p.tokenRequests[len(p.tokenRequests)-1].Get("code_verifier")), 43)
	})
	t.Run("what the provider says is shown", func(t *testing.T) {
		refused(t, as(nil), shell.ProviderBackPath+"?error=access_denied%3Cscript%3E", http.StatusForbidden,
			"access_denied&lt;script&gt;")
	})
	t.Run("one is led back only into the console", func(t *testing.T) {
		s := as(nil)
		r := s.open(t, s.signIn(t, "https://evil.example/console/"))
		require.Equal(t, shell.Root, r.header.Get("Location"))
	})
	t.Run("who is switched off stays out", func(t *testing.T) {
		kim, err := accessdb.New(a.hub.db).UserByEmail(context.Background(), "kim@example.com")
		require.NoError(t, err)
		require.NoError(t, accessdb.NewAccounts(a.hub.db).ChangeUser(context.Background(), access.User{ID: -1}, kim.ID,
			access.Admin, nil, true, "left"))
		s := as(nil)
		refused(t, s, s.signIn(t, shell.Root), http.StatusForbidden, "There is no account")
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
