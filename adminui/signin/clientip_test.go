package signin

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
)

// TestOnlyTrustedProxiesSetTheClientIP uses requests from 0.0.0.0, the address of a test connection.
func TestOnlyTrustedProxiesSetTheClientIP(t *testing.T) {
	for _, c := range []struct{ trusted, forwarded, want string }{
		{"", "203.0.113.7", "0.0.0.0"},
		{"10.0.0.0/8", "203.0.113.7", "0.0.0.0"},
		{"0.0.0.0/32", "", "0.0.0.0"},
		{"0.0.0.0/32", "203.0.113.7", "203.0.113.7"},
		{"0.0.0.0/32", "198.51.100.1, 203.0.113.7", "203.0.113.7"},
		{"0.0.0.0/32", "198.51.100.1|203.0.113.7", "203.0.113.7"},
		{"0.0.0.0/32", "203.0.113.7, 10.0.0.1", "10.0.0.1"},
		{"0.0.0.0/32 10.0.0.0/8", "203.0.113.7, 10.0.0.1 ,10.0.0.2", "203.0.113.7"},
		{"0.0.0.0/32 10.0.0.0/8", "unknown, 10.0.0.1", "10.0.0.1"},
		{"0.0.0.0/32", "2001:DB8::1", "2001:db8::1"},
		{"0.0.0.0/32", "::ffff:203.0.113.7", "203.0.113.7"},
	} {
		var proxies []netip.Prefix
		for _, text := range strings.Fields(c.trusted) {
			proxies = append(proxies, netip.MustParsePrefix(text))
		}
		var got string
		app := fiber.New()
		app.Get("/", func(c *fiber.Ctx) error { got = clientIP(c, proxies); return nil })
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, line := range strings.Split(c.forwarded, "|") {
			request.Header.Add("X-Forwarded-For", line)
		}
		_, err := app.Test(request, -1)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
	}
}
