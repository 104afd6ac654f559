package inbound

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// shortStall is the stall limit in these tests.
const shortStall = 100 * time.Millisecond

// pair returns both ends of a connection. The server's end is within a request.
func pair(t *testing.T, stall time.Duration, rate int) (client *net.TCPConn, ours *Conn) {
	t.Helper()
	s := serve(t, Config{Stall: stall, MinRate: rate})
	client = s.dial(t, "127.0.0.1").(*net.TCPConn)
	ours = <-s.accepted
	t.Cleanup(func() { _ = ours.Close() })
	BeginRequest(ours)
	return client, ours
}

// pipe is a connection in memory, in a test with a fake clock.
type pipe struct {
	config Config
	system int            // bytes of the server's writes that the system buffers
	peer   func(net.Conn) // the client, until the connection is closed
}

// run runs a test with the server's end, which is within a request.
func (p pipe) run(t *testing.T, test func(t *testing.T, ours *Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, inner := net.Pipe()
		ours := newConn(&buffering{Conn: inner, free: p.system}, New(p.config), netip.Prefix{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.peer(client)
		}()
		defer func() {
			_ = inner.Close()
			<-ended
		}()
		BeginRequest(ours)
		test(t, ours)
	})
}

func silent(net.Conn) {}

// buffering is a connection that takes its first bytes at once, as a system does. It never delivers them.
type buffering struct {
	net.Conn
	free int
}

func (b *buffering) Write(data []byte) (int, error) {
	taken := min(b.free, len(data))
	b.free -= taken
	n, err := b.Conn.Write(data[taken:])
	return taken + n, err
}

func TestReadEndsWithoutProgress(t *testing.T) {
	pipe{config: Config{Stall: shortStall, MinRate: 1 << 10}, peer: func(client net.Conn) {
		_, _ = client.Write(bytes.Repeat([]byte("x"), 1<<20-1)) // one byte less than the body of 1 MiB
	}}.run(t, func(t *testing.T, ours *Conn) {
		began := time.Now()
		n, err := io.Copy(io.Discard, io.LimitReader(ours, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.EqualValues(t, 1<<20-1, n)
		require.Equal(t, shortStall, time.Since(began))
		require.Equal(t, 1, ours.limiter.Stats().Stalled)
	})
}

// drip writes n bytes one by one with a pause before each, until the connection is closed.
func drip(client net.Conn, n int, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range n {
		<-tick.C
		if _, err := client.Write([]byte("x")); err != nil {
			return
		}
	}
}

func TestReadEndsBelowTheRate(t *testing.T) {
	pipe{config: Config{Stall: shortStall, MinRate: 1 << 20}, peer: func(client net.Conn) {
		drip(client, 10_000, time.Millisecond) // the gaps are shorter than the stall limit
	}}.run(t, func(t *testing.T, ours *Conn) {
		n, err := io.Copy(io.Discard, ours)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Less(t, n, int64(1000))
	})
}

func TestReadGoesOnAtTheRate(t *testing.T) {
	pipe{config: Config{Stall: shortStall, MinRate: 500}, peer: func(client net.Conn) {
		drip(client, 400, 2*time.Millisecond) // takes longer than the initial allowance
	}}.run(t, func(t *testing.T, ours *Conn) {
		began := time.Now()
		_, err := io.ReadFull(ours, make([]byte, 400))
		require.NoError(t, err)
		require.Greater(t, time.Since(began), shortStall)
	})
}

func TestIdleConnectionWaitsForTheServersDeadline(t *testing.T) {
	pipe{config: Config{Stall: shortStall, MinRate: 1 << 20}, peer: func(client net.Conn) {
		drip(client, 1, 4*shortStall-time.Millisecond)
	}}.run(t, func(t *testing.T, ours *Conn) {
		EndRequest(ours)
		require.NoError(t, ours.SetReadDeadline(time.Now().Add(3*shortStall)))
		began := time.Now()
		_, err := ours.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 3*shortStall, time.Since(began))
		require.Zero(t, ours.limiter.Stats().Stalled)

		BeginRequest(ours)
		require.NoError(t, ours.SetReadDeadline(time.Time{}))
		_, err = ours.Read(make([]byte, 1))
		require.NoError(t, err, "the next request has its whole allowance")
	})
}

func TestServersDeadlineEndsRead(t *testing.T) {
	pipe{config: Config{Stall: patience, MinRate: 1}, peer: silent}.run(t, func(t *testing.T, ours *Conn) {
		require.NoError(t, ours.SetDeadline(time.Now().Add(shortStall)))
		began := time.Now()
		_, err := ours.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, shortStall, time.Since(began))
	})
}

func TestWriteEndsWhenPeerDoesNotRead(t *testing.T) {
	config := Config{Stall: shortStall, MinRate: 1 << 10}
	pipe{config: config, system: 8 << 20, peer: silent}.run(t, func(t *testing.T, ours *Conn) {
		began := time.Now()
		n, err := ours.Write(make([]byte, 64<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 8<<20, n)
		require.Less(t, time.Since(began), 19*shortStall/10,
			"bytes that the system buffered first are no later progress")
		require.Equal(t, 1, ours.limiter.Stats().Stalled)
	})
}

func TestStalledPeersUnsentDataIsDiscarded(t *testing.T) {
	client, ours := pair(t, shortStall, 1<<10)
	n, err := ours.Write(make([]byte, 64<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Less(t, n, 32<<20)
	require.NoError(t, ours.Close())
	_, err = io.Copy(io.Discard, client)
	require.Error(t, err, "unsent data is discarded")
}

// readSlowly reads size bytes in parts with a pause before each, until the connection is closed.
func readSlowly(client net.Conn, size, part int, every time.Duration) (total int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for total < size {
		<-tick.C
		n, err := client.Read(make([]byte, part))
		if total += n; err != nil {
			break
		}
	}
	return total
}

func TestWriteEndsBelowTheRate(t *testing.T) {
	pipe{config: Config{Stall: shortStall, MinRate: 1 << 30}, peer: func(client net.Conn) {
		readSlowly(client, 64<<20, 1<<10, time.Millisecond)
	}}.run(t, func(t *testing.T, ours *Conn) {
		n, err := ours.Write(make([]byte, 64<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Less(t, n, 1<<20)
	})
}

func TestLargeWriteToSlowPeerCompletes(t *testing.T) {
	const size = 4 << 20
	read := 0
	pipe{config: Config{Stall: 5 * shortStall, MinRate: 64 << 10}, peer: func(client net.Conn) {
		read = readSlowly(client, size, 32<<10, 10*time.Millisecond)
	}}.run(t, func(t *testing.T, ours *Conn) {
		began := time.Now()
		n, err := ours.Write(make([]byte, size))
		require.NoError(t, err)
		require.Equal(t, size, n)
		require.Greater(t, time.Since(began), 5*shortStall, "takes longer than the stall limit")
	})
	require.Equal(t, size, read)
}

func TestEvictionEndsReadQuietly(t *testing.T) {
	s := serve(t, Config{Max: 1})
	s.dial(t, "127.0.0.1")
	ours := <-s.accepted
	ended := make(chan error, 1)
	go func() {
		_, err := ours.Read(make([]byte, 1))
		ended <- err
	}()
	require.Eventually(t, ours.waiting.Load, patience, time.Millisecond)
	s.connect(t, "127.0.0.1")
	require.True(t, errors.Is(<-ended, io.EOF))
}

func TestClosedConnectionIsNoticedWithoutReading(t *testing.T) {
	client, ours := pair(t, patience, 1)
	require.False(t, PeerClosed(ours))
	_, err := client.Write([]byte("next"))
	require.NoError(t, err)
	require.Never(t, func() bool { return PeerClosed(ours) }, shortStall, 5*time.Millisecond, "the next request waits")
	got := make([]byte, 4)
	_, err = io.ReadFull(ours, got)
	require.NoError(t, err)
	require.Equal(t, "next", string(got), "the data was not read")

	require.NoError(t, client.Close())
	require.Eventually(t, func() bool { return PeerClosed(ours) }, patience, time.Millisecond)
	require.NoError(t, ours.Close())
	require.True(t, PeerClosed(ours))
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	require.False(t, PeerClosed(one), "the peer is not known to be closed")
}
