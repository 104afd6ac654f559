package shell

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Cookie is the name of a cookie that scripts cannot read.
type Cookie string

// The cookies of the console.
const (
	SessionCookie  Cookie = "servery"       // the session token
	ProviderCookie Cookie = "servery-begun" // the state of a sign-in with the identity provider
	LoginCookie    Cookie = "servery-login" // the state of a login at an aggregator
)

func secure(c *fiber.Ctx) bool { return c.Secure() || c.Protocol() == "https" }

// name returns the name that browsers see. With TLS, its prefix binds the cookie to this host and to TLS (RFC 6265bis,
// section 4.1.3.2).
func (k Cookie) name(c *fiber.Ctx) string {
	if secure(c) {
		return "__Host-" + string(k)
	}
	return string(k)
}

// Set sets the cookie. An empty value deletes it.
func (k Cookie) Set(c *fiber.Ctx, value string, life time.Duration) {
	cookie := &fiber.Cookie{
		Name: k.name(c), Value: value, Path: "/", HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode,
		Secure: secure(c), MaxAge: int(life / time.Second),
	}
	if value == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Unix(0, 0)
	}
	c.Cookie(cookie)
}

// Of returns the value of the cookie in a request, or "".
func (k Cookie) Of(c *fiber.Ctx) string { return strings.Clone(c.Cookies(k.name(c))) }
