//go:build !linux && !darwin

package inbound

import "net"

func boundUnsent(net.Conn) {}

// OpenFiles returns how many files and connections the process may have open.
func OpenFiles() int { return leastFiles }

// Gone reports whether the peer of a connection has closed it. On this system it always returns false.
func Gone(net.Conn) bool { return false }
