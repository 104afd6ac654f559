package signin

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/gofiber/fiber/v2"
)

// clientIP is where a request comes from: the other end of its connection or, where
// that is a proxy that is trusted, the last address of X-Forwarded-For that is no such
// proxy. What stands before it anybody may have written.
func clientIP(c *fiber.Ctx, proxies []netip.Prefix) string {
	at, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	at = at.Unmap()
	told := bytes.Split(bytes.Join(c.Request().Header.PeekAll(fiber.HeaderXForwardedFor), []byte{','}), []byte{','})
	for _, text := range slices.Backward(told) {
		next, err := netip.ParseAddr(string(bytes.TrimSpace(text)))
		if err != nil || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) }) {
			break
		}
		at = next.Unmap()
	}
	return at.String()
}
