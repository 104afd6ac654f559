//go:build linux || darwin

package inbound

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxUnsent bounds the bytes of a response that the system buffers beyond the peer's window. A larger buffer would
// hide for long whether the peer reads.
const maxUnsent = 16 << 10

func limitUnsent(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			// An error is ignored: progress is then noticed later.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
		})
	}
}

// OpenFiles returns how many files and connections the process may have open.
func OpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minOpenFiles
	}
	return int(min(limit.Cur, maxOpenFiles)) // the Go runtime has raised it to the hard limit
}

// PeerClosed reports whether the peer of a connection has closed it. It peeks without reading, so the data stays for
// the next request.
func PeerClosed(conn net.Conn) bool {
	c, ok := conn.(*Conn)
	if !ok {
		return false
	}
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return true // closed on this side
	}
	gone := false
	if err := raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			gone = n == 0
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		default:
			gone = true
		}
	}); err != nil {
		return true
	}
	return gone
}
