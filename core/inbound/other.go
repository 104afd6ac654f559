//go:build !linux && !darwin

package inbound

import "net"

func boundUnsent(net.Conn) {}

// OpenFiles is how many files and connections the process may have open.
func OpenFiles() int { return leastFiles }

// Gone reports whether the peer of a connection has closed it. Here it is not known.
func Gone(net.Conn) bool { return false }
