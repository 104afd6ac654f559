package shell

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/access"
)

// Names of cookies.
const (
	sessionCookie       = "servery"
	providerCookie      = "servery-begun"
	platformLoginCookie = "servery-login"
)

func secure(c *fiber.Ctx) bool { return c.Secure() || c.Protocol() == "https" }

// cookieName returns the name of a cookie. With TLS, its prefix binds it to this host and to TLS (RFC 6265bis, section
// 4.1.3.2).
func cookieName(c *fiber.Ctx, name string) string {
	if secure(c) {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie that scripts cannot read. An empty value deletes it.
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

// SetSession sets the session cookie. An empty token deletes it.
func SetSession(c *fiber.Ctx, token string) {
	setCookie(c, sessionCookie, token, access.SessionLifetime)
}

// SessionOf returns the session token of a request.
func SessionOf(c *fiber.Ctx) string { return cookieOf(c, sessionCookie) }

// SetPlatformLogin sets the cookie with the state of a login at an aggregator. An empty value deletes it.
func SetPlatformLogin(c *fiber.Ctx, value string, life time.Duration) {
	setCookie(c, platformLoginCookie, value, life)
}

// PlatformLogin returns the state of a login at an aggregator.
func PlatformLogin(c *fiber.Ctx) string { return cookieOf(c, platformLoginCookie) }

// SetProviderState sets the cookie with the state of a sign-in with the identity provider. An empty value deletes it.
func SetProviderState(c *fiber.Ctx, value string, life time.Duration) {
	setCookie(c, providerCookie, value, life)
}

// ProviderState returns the state of a sign-in with the identity provider.
func ProviderState(c *fiber.Ctx) string { return cookieOf(c, providerCookie) }
