package signin

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/gofiber/fiber/v2"
)

// clientIP returns the IP address of the client. It trusts X-Forwarded-For only from trusted proxies, and returns its
// last address that is not one of them. A client can write the addresses before that.
func clientIP(c *fiber.Ctx, proxies []netip.Prefix) string {
	ip, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	ip = ip.Unmap()
	addresses := bytes.Split(bytes.Join(c.Request().Header.PeekAll(fiber.HeaderXForwardedFor), []byte{','}),
		[]byte{','})
	for _, address := range slices.Backward(addresses) {
		next, err := netip.ParseAddr(string(bytes.TrimSpace(address)))
		if err != nil || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			break
		}
		ip = next.Unmap()
	}
	return ip.String()
}
