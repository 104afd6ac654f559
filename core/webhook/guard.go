package webhook

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// Guard decides which addresses deliveries may reach: public ones, and the
// ranges that the operator allows. It looks at the resolved address at the
// moment of dialling, so no name, form of number or change of DNS gets around it.
type Guard struct{ guardian *ssrf.Guardian }

// NewGuard makes a guard that allows the given ranges besides the public internet.
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

// wireServer is a public address behind which Azure's virtual machines find what
// manages them (Microsoft, "What is IP address 168.63.129.16?").
var wireServer = netip.MustParsePrefix("168.63.129.16/32")

// errRefused is the guard's no. It does not say what a name resolves to: whoever
// may subscribe could map the operator's network by it.
var errRefused = errors.New("the address is not on the public internet and is not allowed here")

// control is a net.Dialer's Control: it sees the address that is about to be connected to.
func (g *Guard) control(network, address string, c syscall.RawConn) error {
	if err := g.guardian.Safe(network, address, c); err != nil {
		return errRefused
	}
	return nil
}

// CheckURL refuses an address whose host is written as a forbidden IP address,
// so that the mistake shows when it is made; "" when there is nothing to say. Names are
// judged when they are dialled.
func (g *Guard) CheckURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "must be an address"
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return ""
	}
	addr, _ := netip.AddrFromSlice(ip)
	if err := g.guardian.SafeAddr(addr.Unmap()); err != nil {
		return "must be on the public internet: " + addr.Unmap().String() + " is a private or reserved address"
	}
	return ""
}
