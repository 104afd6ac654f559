package inbound

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
)

// ClientAddress returns the IP address of a client. It trusts X-Forwarded-For only from trusted proxies, and returns
// its last address that is not one of them. A client can write the addresses before that.
func ClientAddress(remote net.IP, forwarded [][]byte, proxies []netip.Prefix) netip.Addr {
	ip, _ := netip.AddrFromSlice(remote)
	ip = ip.Unmap()
	addresses := bytes.Split(bytes.Join(forwarded, []byte{','}), []byte{','})
	for _, address := range slices.Backward(addresses) {
		next, err := netip.ParseAddr(string(bytes.TrimSpace(address)))
		if err != nil || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			break
		}
		ip = next.Unmap()
	}
	return ip
}

// ClientNetwork returns the network of a client's address.
func ClientNetwork(remote net.IP, forwarded [][]byte, proxies []netip.Prefix) netip.Prefix {
	return NetworkOf(ClientAddress(remote, forwarded, proxies))
}

// NetworkOf returns the network in which an address is counted: the address itself for IPv4, the /64 for IPv6.
func NetworkOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits) // cannot fail with these bits
	return prefix
}
