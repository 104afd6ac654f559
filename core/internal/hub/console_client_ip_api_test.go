package hub

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

// Clients behind one proxy must not exhaust the sign-in limit of each other.
func TestSignInLimitUsesTheForwardedClientIP(t *testing.T) {
	a := newAPI(t, func(c *Config) {
		c.Roles = append(c.Roles, RoleConsole)
		// App.Test has the address 0.0.0.0
		c.Identity.Proxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	a.hub.mountPages("http://example.com", 0)
	a.user(t, "sam@example.com", access.Admin)
	tried := func(address string, times int) {
		for range times {
			now := a.clock.Now()
			allowed, err := accessdb.New(a.hub.db).CountAttempt(t.Context(),
				[]access.Subject{{Name: "address/" + address, Limit: 100}}, now, now.Add(-time.Minute))
			require.NoError(t, err)
			require.True(t, allowed)
			a.clock.Advance(time.Millisecond)
		}
	}
	enter := func(forwarded, password string) int {
		b := &browser{api: a}
		form := b.form(shell.SignInPath, url.Values{"email": {"sam@example.com"}, "password": {password}})
		form.Header.Set("X-Forwarded-For", forwarded)
		a.clock.Advance(time.Millisecond)
		return b.send(t, form).status
	}
	tried("203.0.113.7", 100)
	require.Equal(t, http.StatusTooManyRequests, enter("203.0.113.7", consolePassword))
	require.Equal(t, http.StatusTooManyRequests, enter("198.51.100.1, 203.0.113.7, 10.1.2.3", consolePassword),
		"what a client writes before it counts for nothing")
	require.Equal(t, http.StatusSeeOther, enter("203.0.113.8", consolePassword))

	tried("203.0.113.9", 99)
	for n := range 3 {
		require.Equal(t, http.StatusSeeOther, enter("203.0.113.9", consolePassword), fmt.Sprint(n))
	}
	require.Equal(t, http.StatusUnauthorized, enter("203.0.113.9", "wrong"))
	require.Equal(t, http.StatusTooManyRequests, enter("203.0.113.9", consolePassword),
		"those that failed are not forgotten")
}
