package inbound

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
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

func TestReadEndsWithoutProgress(t *testing.T) {
	client, ours := pair(t, shortStall, 1<<10)
	_, err := client.Write(bytes.Repeat([]byte("x"), 1<<20-1)) // one byte less than the body of 1 MiB
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, io.LimitReader(ours, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.EqualValues(t, 1<<20-1, n)
	require.Equal(t, 1, ours.limiter.Stats().Stalled)
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
	client, ours := pair(t, shortStall, 1<<20)
	go drip(client, 10_000, time.Millisecond) // the gaps are shorter than the stall limit
	n, err := io.Copy(io.Discard, ours)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Less(t, n, int64(1000))
}

func TestReadGoesOnAtTheRate(t *testing.T) {
	client, ours := pair(t, 5*shortStall, 10)
	began := time.Now()
	go drip(client, 400, 2*time.Millisecond) // takes longer than the initial allowance
	_, err := io.ReadFull(ours, make([]byte, 400))
	require.NoError(t, err)
	require.Greater(t, time.Since(began), 5*shortStall)
}

func TestIdleConnectionWaitsForTheServersDeadline(t *testing.T) {
	client, ours := pair(t, shortStall, 1<<20)
	EndRequest(ours)
	require.NoError(t, ours.SetReadDeadline(time.Now().Add(3*shortStall)))
	began := time.Now()
	_, err := ours.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(began), 3*shortStall)
	require.Zero(t, ours.limiter.Stats().Stalled)

	BeginRequest(ours)
	require.NoError(t, ours.SetReadDeadline(time.Time{}))
	_, err = client.Write([]byte("x"))
	require.NoError(t, err)
	_, err = ours.Read(make([]byte, 1))
	require.NoError(t, err, "the next request has its whole allowance")
}

func TestServersDeadlineEndsRead(t *testing.T) {
	_, ours := pair(t, patience, 1)
	require.NoError(t, ours.SetDeadline(time.Now().Add(shortStall)))
	_, err := ours.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestWriteEndsWhenPeerDoesNotRead(t *testing.T) {
	const stall = 15 * shortStall // far longer than the delays of a busy machine
	client, ours := pair(t, stall, 1<<10)
	began := time.Now()
	n, err := ours.Write(make([]byte, 64<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Less(t, n, 32<<20)
	require.Less(t, time.Since(began), 19*stall/10, "bytes that the system buffered first are no later progress")
	require.Equal(t, 1, ours.limiter.Stats().Stalled)

	require.NoError(t, ours.Close())
	_, err = io.Copy(io.Discard, client)
	require.Error(t, err, "unsent data is discarded")
}

func TestWriteEndsBelowTheRate(t *testing.T) {
	client, ours := pair(t, 3*shortStall, 1<<30)
	require.NoError(t, client.SetReadBuffer(32<<10))
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := client.Read(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	}()
	_, err := ours.Write(make([]byte, 64<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, ours.Close())
	<-reading
}

func TestLargeWriteToSlowPeerCompletes(t *testing.T) {
	const size = 4 << 20
	const stall = 5 * shortStall
	client, ours := pair(t, stall, 64<<10)
	require.NoError(t, client.SetReadBuffer(64<<10))
	read := make(chan int64, 1)
	go func() {
		var total int64
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			n, err := client.Read(make([]byte, 32<<10))
			if total += int64(n); err != nil || total == size {
				break
			}
		}
		read <- total
	}()
	began := time.Now()
	n, err := ours.Write(make([]byte, size))
	require.NoError(t, err)
	require.Equal(t, size, n)
	require.EqualValues(t, size, <-read)
	require.Greater(t, time.Since(began), stall, "takes longer than the stall limit")
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
