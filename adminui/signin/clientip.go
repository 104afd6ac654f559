package signin

import (
	"net/netip"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/inbound"
)

// clientIP returns the IP address of the client.
func clientIP(c *fiber.Ctx, proxies []netip.Prefix) string {
	return inbound.ClientAddress(c.Context().RemoteIP(), c.Request().Header.PeekAll(fiber.HeaderXForwardedFor),
		proxies).String()
}
