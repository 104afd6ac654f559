package webhook

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// Guard decides which IP addresses deliveries may reach: public ones, and the ranges that the operator allows. It
// checks the resolved address while dialling, so host names, number formats and DNS changes cannot bypass it.
type Guard struct{ guardian *ssrf.Guardian }

// NewGuard returns a guard that allows the given ranges in addition to the public internet.
func NewGuard(allow []netip.Prefix) *Guard {
	var v4, v6 []netip.Prefix
	for _, prefix := range allow {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return &Guard{ssrf.New(ssrf.WithAnyPort(), ssrf.WithNetworks("tcp4", "tcp6"), ssrf.WithDeniedV4Prefixes(wireServer),
		ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// wireServer is a public address that serves the management of Azure's virtual machines (Microsoft, "What is IP
// address 168.63.129.16?").
var wireServer = netip.MustParsePrefix("168.63.129.16/32")

// errRefused does not state what a name resolves to. A subscriber could otherwise map the operator's network.
var errRefused = errors.New("the IP address is not on the public internet, and the hub does not allow it")

// control is the Control function of a net.Dialer. It checks the address about to be connected to.
func (g *Guard) control(network, address string, c syscall.RawConn) error {
	if err := g.guardian.Safe(network, address, c); err != nil {
		return errRefused
	}
	return nil
}

// CheckURL rejects a URL whose host is a forbidden IP address, so that the mistake shows at once. It returns "" if
// there is no objection. Host names are checked when they are dialled.
func (g *Guard) CheckURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "must be a URL"
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	if err := g.guardian.SafeAddr(addr.Unmap()); err != nil {
		return "must be on the public internet: " + addr.Unmap().String() + " is a private or reserved address"
	}
	return ""
}
