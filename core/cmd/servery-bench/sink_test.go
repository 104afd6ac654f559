package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreadAddressesAreHostsOfTheirOwn(t *testing.T) {
	hosts := map[string]bool{}
	for i := range spreadAddresses {
		address := net.ParseIP(spreadAddress(i))
		require.True(t, address.IsLoopback(), spreadAddress(i))
		hosts[address.String()] = true
	}
	require.Len(t, hosts, spreadAddresses)
	require.Equal(t, "http://127.1.0.1:8080/hang",
		(&sink{url: "http://127.0.0.1:8080/hook"}).at(spreadAddress(0), hangPath))
}
