package hubtest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// The ports are below the ephemeral range, so that the system does not assign them to connections.
const (
	firstPort    = 20000
	lastPort     = 31999
	portsPerCall = 8
)

var portCalls atomic.Int64

// Port returns the first of eight consecutive free ports. No two calls in a process return the same one.
func Port(t testing.TB) int {
	t.Helper()
	const places = (lastPort + 1 - firstPort) / portsPerCall
	for range places {
		port := firstPort + (os.Getpid()*31+int(portCalls.Add(1)))%places*portsPerCall
		if allFree(port) {
			return port
		}
	}
	t.Fatal("no ports are free")
	return 0
}

func allFree(port int) bool {
	for i := range portsPerCall {
		listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port+i))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}
