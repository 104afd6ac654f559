package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

func TestOneTimeLinkSetsThePasswordOnce(t *testing.T) {
	a := consoleHub(t)
	_, link, err := accessdb.NewAccounts(a.hub.db).CreateUser(context.Background(),
		access.User{Email: "sam@example.com", Role: access.Support}, "cli", "")
	require.NoError(t, err)
	b := &browser{api: a}
	for range 2 { // a GET request, as of mail scanners, does not use it up
		r := b.get(t, shell.WelcomePath+"?link="+link)
		require.Equal(t, http.StatusOK, r.status)
		require.Equal(t, "same-origin", r.header.Get("Referrer-Policy"),
			"the address, which is a secret, reaches no other site")
	}
	require.Equal(t, http.StatusBadRequest,
		b.post(t, shell.WelcomePath, url.Values{"link": {link}, "password": {"short"}}).status)
	require.Equal(t, http.StatusBadRequest,
		b.post(t, shell.WelcomePath, url.Values{"link": {link}, "keep": {"1"}}).status, "there is no password to keep")
	require.Equal(t, http.StatusSeeOther,
		b.post(t, shell.WelcomePath, url.Values{"link": {link}, "password": {consolePassword}}).status)
	require.Equal(t, http.StatusNotFound,
		b.post(t, shell.WelcomePath, url.Values{"link": {link}, "password": {consolePassword}}).status)
	require.Equal(t, http.StatusNotFound, b.get(t, shell.WelcomePath+"?link=").status)

	user, err := accessdb.New(a.hub.db).UserByEmail(context.Background(), "sam@example.com")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(user.Password, "$argon2id$v=19$m=19456,t=2,p=1$"))
	linkOf := func() string {
		token, err := accessdb.NewAccounts(a.hub.db).CreateLink(context.Background(), user.ID)
		require.NoError(t, err)
		return token
	}
	lost := linkOf()
	b.session = sessionOf(b.post(t, shell.WelcomePath, url.Values{"link": {linkOf()}, "keep": {"1"}}))
	require.Equal(t, http.StatusNotFound, b.get(t, shell.WelcomePath+"?link="+lost).status, "another took its place")
	found := linkOf()
	require.NoError(t, accessdb.NewAccounts(a.hub.db).ChangePassword(context.Background(), user, consolePassword,
		consolePassword+"!", b.session))
	require.Equal(t, http.StatusNotFound, b.get(t, shell.WelcomePath+"?link="+found).status,
		"it ends with the password")
	late := linkOf()
	a.clock.Advance(73 * time.Hour)
	require.Equal(t, http.StatusNotFound, b.get(t, shell.WelcomePath+"?link="+late).status)
}

func TestConsoleUserManagement(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sam := a.user(t, "sam@example.com", access.Admin)
	r := sam.post(t, shell.UsersPath,
		url.Values{"email": {"kim@example.com"}, "role": {"support"}, "businesses": {fmt.Sprint(tenant.ID)},
			"why": {"new"}})
	require.Equal(t, http.StatusOK, r.status, r.text)
	link := regexp.MustCompile(`welcome/\?link=([A-Za-z0-9_-]{43})`).FindStringSubmatch(r.text)
	require.NotNil(t, link)
	kim := &browser{api: a}
	kim.session = sessionOf(kim.post(t, shell.WelcomePath,
		url.Values{"link": {link[1]}, "password": {consolePassword}}))
	require.Equal(t, http.StatusOK, kim.get(t, shell.BusinessLink(tenant.ID, "")).status)

	require.Equal(t, http.StatusConflict,
		sam.post(t, shell.UsersPath,
			url.Values{"email": {"KIM@example.com"}, "role": {"viewer"}, "why": {"new"}}).status)
	require.Equal(t, http.StatusBadRequest,
		sam.post(t, shell.UsersPath, url.Values{"email": {"kim"}, "role": {"viewer"}, "why": {"new"}}).status)
	require.Equal(t, http.StatusNotFound,
		sam.post(t, shell.UsersPath,
			url.Values{"email": {"a@example.com"}, "role": {"viewer"}, "businesses": {"999"}, "why": {"new"}}).status)

	read := func() access.User {
		user, err := accessdb.New(a.hub.db).UserByEmail(context.Background(), "kim@example.com")
		require.NoError(t, err)
		return user
	}
	user := read()
	here := fmt.Sprintf("%s%d/", shell.UsersPath, user.ID)
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, here, url.Values{"role": {"support"}, "businesses": {""}, "allowed": {"yes"},
			"seen": {user.AccessVersion()}, "why": {"moved"}}).status)
	require.Equal(t, http.StatusNotFound, kim.get(t, shell.BusinessLink(tenant.ID, "")).status, "grants count at once")
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, here, url.Values{"role": {"support"}, "allowed": {"no"}, "seen": {read().AccessVersion()},
			"why": {"left"}}).status)
	require.Equal(t, http.StatusSeeOther, kim.get(t, shell.Root).status, "so does being switched off")
	own, err := accessdb.New(a.hub.db).UserByEmail(context.Background(), "sam@example.com")
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict,
		sam.post(t, fmt.Sprintf("%s%d/", shell.UsersPath, own.ID),
			url.Values{"role": {"viewer"}, "allowed": {"yes"}, "why": {"x"}}).status)
	require.Contains(t, sam.get(t, shell.AuditPath).text, "user.change")

	other := &browser{api: a,
		session: sessionOf(sam.post(t, shell.SignInPath,
			url.Values{"email": {"sam@example.com"}, "password": {consolePassword}}))}
	sam.session = other.session
	second := &browser{api: a}
	second.session = sessionOf(second.post(t, shell.SignInPath,
		url.Values{"email": {"sam@example.com"}, "password": {consolePassword}}))
	require.Equal(t, http.StatusBadRequest,
		sam.post(t, shell.AccountPath, url.Values{"present": {"wrong"}, "password": {"another good password"}}).status)
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, shell.AccountPath,
			url.Values{"present": {consolePassword}, "password": {"another good password"}}).status)
	require.Equal(t, http.StatusOK, sam.get(t, shell.Root).status)
	require.Equal(t, http.StatusSeeOther, second.get(t, shell.Root).status, "the other sessions have ended")
	require.Equal(t, http.StatusSeeOther, sam.post(t, shell.SignOutPath, nil).status)
	require.Equal(t, http.StatusSeeOther, sam.get(t, shell.Root).status)
}
