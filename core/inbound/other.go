//go:build !linux && !darwin

package inbound

import "net"

func limitUnsent(net.Conn) {}

// OpenFiles returns how many files and connections the process may have open.
func OpenFiles() int { return minOpenFiles }

// PeerClosed reports whether the peer of a connection has closed it. On this system it always returns false.
func PeerClosed(net.Conn) bool { return false }
