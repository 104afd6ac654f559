//go:build linux || darwin

package inbound

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsent is how many bytes of a response the system takes before the peer has room for
// them. More would hide for long whether the peer reads.
const unsent = 16 << 10

func boundUnsent(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			// Without it progress is seen later.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsent)
		})
	}
}

// OpenFiles is how many files and connections the process may have open.
func OpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return leastFiles
	}
	return int(min(limit.Cur, mostFiles)) // Go has raised it to the hard limit
}
