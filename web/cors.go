package web

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// The CORS headers of responses to web pages (Fetch standard, CORS protocol).
const (
	corsMethods  = "GET, POST, PUT"
	corsRequest  = "Authorization, Content-Type, Content-Encoding, If-None-Match, X-Request-Id, Traceparent"
	corsResponse = "X-Request-Id, ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"WWW-Authenticate"
	corsMaxAge = "600"
)

// AnyOrigin allows pages of every origin to call the API.
const AnyOrigin = "*"

// ErrOrigin is the error of CheckOrigins.
var ErrOrigin = errors.New("must be * or origins such as https://pos.example.com")

// CheckOrigins returns ErrOrigin unless each origin is AnyOrigin or a scheme and a host.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != AnyOrigin && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin ||
			u.Scheme != "https" && u.Scheme != "http") {
			return ErrOrigin
		}
	}
	return nil
}

// allowOrigins lets pages of the configured origins call the API, and responds to their preflight requests. Pages set
// credentials as headers, so cookies are not allowed.
func (s *Server) allowOrigins(c *fiber.Ctx) error {
	inAPI := func(prefix string) bool { return strings.HasPrefix(c.Path(), prefix) }
	if len(s.CORSOrigins) == 0 || !slices.ContainsFunc(corsPaths, inAPI) {
		return c.Next()
	}
	origin := strings.Clone(c.Get(fiber.HeaderOrigin))
	c.Vary(fiber.HeaderOrigin)
	if origin == "" || !slices.Contains(s.CORSOrigins, AnyOrigin) && !slices.Contains(s.CORSOrigins, origin) {
		return c.Next()
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderAccessControlExposeHeaders, corsResponse)
	if c.Method() != fiber.MethodOptions {
		return c.Next()
	}
	c.Set(fiber.HeaderAccessControlAllowMethods, corsMethods)
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsRequest)
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}

// corsPaths are the path prefixes of the API. The console does not allow other origins.
var corsPaths = []string{"/external/", "/hub/", "/ext/", "/channel/"}
