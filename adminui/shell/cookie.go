package shell

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/access"
)

// The names of cookies.
const (
	sessionCookie  = "servery"
	providerCookie = "servery-begun"
)

func secure(c *fiber.Ctx) bool { return c.Secure() || c.Protocol() == "https" }

// cookieName is a cookie's name. Over TLS it binds the cookie to this host and
// to TLS (RFC 6265bis, section 4.1.3.2).
func cookieName(c *fiber.Ctx, name string) string {
	if secure(c) {
		return "__Host-" + name
	}
	return name
}

// setCookie gives the browser a cookie that scripts cannot read; "" takes it away.
func setCookie(c *fiber.Ctx, name, value string, life time.Duration) {
	cookie := &fiber.Cookie{
		Name: cookieName(c, name), Value: value, Path: "/", HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode,
		Secure: secure(c), MaxAge: int(life / time.Second),
	}
	if value == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Unix(0, 0)
	}
	c.Cookie(cookie)
}

func cookieOf(c *fiber.Ctx, name string) string {
	return string([]byte(c.Cookies(cookieName(c, name))))
}

// SetSession gives the browser its session; "" takes it away.
func SetSession(c *fiber.Ctx, token string) {
	setCookie(c, sessionCookie, token, access.SessionLifetime)
}

// SessionOf is the session that the browser shows.
func SessionOf(c *fiber.Ctx) string { return cookieOf(c, sessionCookie) }

// SetProviderState has the browser keep what it began to sign in with; "" takes it away.
func SetProviderState(c *fiber.Ctx, value string, life time.Duration) {
	setCookie(c, providerCookie, value, life)
}

// ProviderState is what the browser began to sign in with.
func ProviderState(c *fiber.Ctx) string { return cookieOf(c, providerCookie) }
